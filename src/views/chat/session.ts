import { asUserError, type UserError } from '../../base/errors.ts'
import { makePaint, type Paint } from '../../base/terminal/columns.ts'
import { KeyParser, type Key } from '../../base/terminal/keys.ts'
import { Tty } from '../../base/terminal/tty.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { textOf } from './edit.ts'
import { eventLines } from './event-lines.ts'
import { makeInputHistory } from './input-history.ts'
import { pressKey, atEnd, type Prompt, type Wish } from './prompt.ts'
import { promptRows } from './rows.ts'
import { ChatScreen } from './screen.ts'
import { describeStatus, type Moment } from './status.ts'
import { Stops } from './stops.ts'

export interface SessionOptions {
  readonly hasColour: boolean
  /** What was typed in earlier chats. */
  readonly past: readonly string[]
  /** Keeps what was typed for later ones. */
  readonly keep: (text: string) => void
  /** Does what is a command of the person's own; undefined where it is something to say. */
  readonly command: (text: string) => ((signal: AbortSignal) => Promise<void>) | 'quit' | undefined
  /** The chat is to end: at once, or, once it is ending, without waiting for anything. */
  readonly stop: (signal: 'SIGINT' | 'SIGHUP') => void
}

const ESC = '\u001b'
/** Pasted text is marked as such. */
const MODES = { enter: `${ESC}[?2004h`, leave: `${ESC}[?2026l${ESC}[0m${ESC}[?2004l` }
/** How long a lone Escape may be the beginning of something longer. */
const ESCAPE_MS = 40

/** A chat on a terminal: the person's side of it. */
export class ChatSession {
  readonly #options: SessionOptions
  readonly #paint: Paint
  readonly #tty: Tty
  readonly #screen: ChatScreen
  readonly #stops: Stops
  readonly #keys = new KeyParser()
  readonly #ahead: string[] = []
  #prompt: Prompt
  #state: Moment['state'] = 'listening'
  #listener = Promise.withResolvers<string | undefined>()
  #turn: AbortController | undefined
  /** What ends the commands of the person's own that are being done. */
  readonly #doing = new Set<AbortController>()
  #isAskedToLeave = false
  #escapeTimer: Timer | undefined
  readonly #atWork = new Set<string>()
  #isOver = false
  /** The chat ends after the current turn and the queued input. */
  #isLastTurn = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#paint = makePaint(options.hasColour)
    this.#prompt = { edit: atEnd(''), past: makeInputHistory(options.past) }
    this.#tty = new Tty(MODES, {
      onInput: (chunk) => this.#take(chunk),
      onResize: () => this.#draw(),
      onGone: () => options.stop('SIGHUP'),
    })
    this.#screen = new ChatScreen(this.#tty)
    this.#stops = new Stops(this.#tty, this.#screen, () => this.#draw())
  }

  /** Takes the terminal. */
  enter(lines: readonly string[]): void {
    this.#stops.begin()
    this.print(lines)
  }

  /** Gives it back as it was. */
  async close(): Promise<void> {
    this.#stops.end()
    clearTimeout(this.#escapeTimer)
    this.#screen.close()
    await this.#tty.leave()
  }

  print(lines: readonly string[]): void {
    this.#screen.print(lines)
    this.#draw()
  }

  show(event: RunEvent): void {
    if (event.type === 'message' && event.task === undefined && event.parent === undefined)
      this.#screen.endAnswer()
    if (event.type === 'task_started') this.#atWork.add(event.id)
    if (event.type === 'task_ended') this.#atWork.delete(event.id)
    this.print(eventLines(event, this.#paint))
  }

  /** What the person says next; undefined: nothing more. */
  async next(stop: AbortSignal): Promise<string | undefined> {
    this.#state = 'listening'
    if (this.#isOver) return undefined
    const ahead = this.#ahead.shift()
    if (ahead !== undefined) {
      this.#echo(ahead)
      return ahead
    }
    if (this.#isLastTurn) return undefined
    this.#listener = Promise.withResolvers()
    const end = () => this.#listener.resolve(undefined)
    stop.addEventListener('abort', end)
    this.#draw()
    try {
      return stop.aborted ? undefined : await this.#listener.promise
    } finally {
      stop.removeEventListener('abort', end)
    }
  }

  turnBegins(): AbortSignal {
    this.#state = 'turn'
    this.#turn = new AbortController()
    this.#draw()
    return this.#turn.signal
  }

  hear(piece: string): void {
    this.#screen.hear(piece)
    this.#draw()
  }

  /** What comes now begins a line of its own. */
  endAnswer(): void {
    this.#screen.endAnswer()
  }

  turnEnds(): void {
    this.#screen.endAnswer()
    // What was typed for after this turn may not be meant any more.
    if (this.#turn?.signal.aborted === true && this.#ahead.length > 0) {
      const text = [...this.#ahead.splice(0), textOf(this.#prompt.edit)].join('\n').trimEnd()
      this.#prompt = { ...this.#prompt, edit: atEnd(text) }
    }
    this.#turn = undefined
    this.print([''])
  }

  refused({ message, hint }: UserError): void {
    const lines = [message, ...(hint === undefined ? [] : [hint])].join('\n').split('\n')
    this.print(lines.map((line) => this.#paint.red(line)))
  }

  leaves(): void {
    this.#state = 'leaving'
    this.#draw()
  }

  /** Ctrl-C: ends what is going on, and only where nothing is the chat. */
  interrupt(): void {
    if (this.#state === 'leaving') return this.#options.stop('SIGINT')
    if (this.#doing.size > 0) return this.#doing.forEach((each) => each.abort())
    if (this.#turn !== undefined) return this.#turn.abort()
    if (textOf(this.#prompt.edit) !== '') {
      this.#prompt = { ...this.#prompt, edit: atEnd('') }
      return this.#draw()
    }
    if (this.#isAskedToLeave) return this.#leave()
    this.#isAskedToLeave = true
    this.#draw()
  }

  /** Takes no more input and does not wait for the current turn. */
  #leave(): void {
    this.#isOver = true
    this.#turn?.abort()
    this.#listener.resolve(undefined)
  }

  #take(chunk: Uint8Array): void {
    clearTimeout(this.#escapeTimer)
    this.#press(this.#keys.push(chunk))
    if (!this.#keys.isWaiting) return
    this.#escapeTimer = setTimeout(() => this.#press(this.#keys.flush()), ESCAPE_MS)
  }

  #press(keys: readonly Key[]): void {
    for (const key of keys) {
      const { prompt, wish } = pressKey(this.#prompt, key)
      this.#prompt = prompt
      if (wish?.type !== 'interrupt') this.#isAskedToLeave = false
      if (wish !== undefined) this.#grant(wish)
    }
    this.#draw()
  }

  #grant(wish: Wish): void {
    switch (wish.type) {
      case 'say':
        return this.#say(wish.text)
      case 'interrupt':
        return this.interrupt()
      case 'end':
        this.#isLastTurn = this.#state === 'turn'
        return this.#state === 'listening' ? this.#leave() : undefined
      case 'suspend':
        return this.#stops.ask()
      case 'clear':
        return this.#screen.wipe()
    }
  }

  #say(text: string): void {
    if (this.#state === 'leaving') return this.print(['Not sent: the chat is ending.'])
    this.#isLastTurn = false
    this.#options.keep(text)
    const command = this.#options.command(text)
    // It is shown before its own answer: in the midst of another one it would cut that.
    if (command === undefined && this.#state === 'turn') return void this.#ahead.push(text)
    this.#echo(text)
    if (command === undefined) return this.#listener.resolve(text)
    if (command === 'quit') return this.#leave()
    return void this.#do(command)
  }

  #echo(text: string): void {
    const { rows } = promptRows(atEnd(text), this.#tty.size.width, Infinity, this.#paint)
    this.#screen.print(rows)
  }

  async #do(command: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const doing = new AbortController()
    this.#doing.add(doing)
    try {
      await command(doing.signal)
    } catch (error) {
      this.refused(asUserError(error))
    } finally {
      this.#doing.delete(doing)
      this.#draw()
    }
  }

  #draw(): void {
    const { width, height } = this.#tty.size
    const status = describeStatus({
      state: this.#state,
      atWork: this.#atWork.size,
      ahead: this.#ahead.length,
      isDoing: this.#doing.size > 0,
      isStopping: this.#turn?.signal.aborted === true,
      isAskedToLeave: this.#isAskedToLeave,
      isLastTurn: this.#isLastTurn,
    })
    const most = Math.max(1, height - 2)
    const prompt = promptRows(this.#prompt.edit, width, most, this.#paint)
    this.#screen.draw(status === '' ? undefined : this.#paint.dim(status), prompt)
  }
}
