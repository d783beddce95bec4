import { asUserError, type UserError } from '../../base/errors.ts'
import { makePaint, type Paint } from '../terminal/columns.ts'
import type { Key } from '../terminal/keys.ts'
import { atEnd, textOf } from '../terminal/line-editor.ts'
import { Tty } from '../terminal/tty.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { eventLines } from './event-lines.ts'
import { makeInputHistory } from './history.ts'
import { pressKey, type Action, type Prompt } from './prompt.ts'
import { promptRows } from './rows.ts'
import { ChatScreen } from './screen.ts'

/** How to handle an input: a message for the agent, or a command. */
export type Meaning =
  { readonly say: string } | { readonly run: (signal: AbortSignal) => Promise<void> } | 'quit'

interface SessionOptions {
  readonly hasColour: boolean
  readonly past: readonly string[]
  readonly keep: (text: string) => void
  /** Throws a `UserError` if the text is refused. */
  readonly understand: (text: string) => Meaning
  /** Ends the chat; a second call ends it without waiting for anything. */
  readonly stop: (signal: 'SIGINT' | 'SIGHUP') => void
}

const ESC = '\u001b'
/** Bracketed paste. */
const MODES = { enter: `${ESC}[?2004h`, leave: `${ESC}[?2026l${ESC}[0m${ESC}[?2004l` }

/** The user's side of a chat on a terminal. */
export class ChatSession {
  readonly #options: SessionOptions
  readonly #paint: Paint
  readonly #tty: Tty
  readonly #screen: ChatScreen
  /** Messages typed during a turn. */
  readonly #ahead: { readonly text: string; readonly say: string }[] = []
  #prompt: Prompt
  #state: 'listening' | 'turn' | 'leaving' = 'listening'
  #listener = Promise.withResolvers<string | undefined>()
  #turn: AbortController | undefined
  readonly #commands = new Set<AbortController>()
  readonly #tasks = new Set<string>()
  /** Whether another Ctrl-C ends the chat. */
  #isAskedToLeave = false
  #isOver = false
  /** The chat ends after the current turn and the messages typed ahead. */
  #isLastTurn = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#paint = makePaint(options.hasColour)
    this.#prompt = { edit: atEnd(''), past: makeInputHistory(options.past) }
    this.#tty = new Tty(MODES, {
      onKeys: (keys) => this.#press(keys),
      onTaken: () => {
        this.#screen.forget()
        this.#draw()
      },
      onResize: () => this.#draw(),
      onSuspend: () => this.#screen.close(),
      onGone: () => options.stop('SIGHUP'),
    })
    this.#screen = new ChatScreen(this.#tty)
  }

  enter(lines: readonly string[]): void {
    this.#screen.print(lines)
    this.#tty.enter()
  }

  async close(): Promise<void> {
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
    if (event.type === 'task_started') this.#tasks.add(event.id)
    if (event.type === 'task_ended') this.#tasks.delete(event.id)
    this.print(eventLines(event, this.#paint))
  }

  async next(stop: AbortSignal): Promise<string | undefined> {
    this.#state = 'listening'
    if (this.#isOver) return undefined
    const ahead = this.#ahead.shift()
    if (ahead !== undefined) {
      this.#echo(ahead.text)
      return ahead.say
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
    this.#screen.addToAnswer(piece)
    this.#draw()
  }

  restartAnswer(): void {
    this.#screen.endAnswer()
  }

  turnEnds(): void {
    // After an interruption, messages typed ahead may no longer be meant: they can be edited.
    if (this.#turn?.signal.aborted === true && this.#ahead.length > 0) {
      const text = [...this.#ahead.splice(0).map((each) => each.text), textOf(this.#prompt.edit)]
        .join('\n')
        .trimEnd()
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

  hasFailed(): boolean {
    return false
  }

  /** Ctrl-C: stops what is running; otherwise clears the input; otherwise ends the chat. */
  interrupt(): void {
    if (this.#state === 'leaving') return this.#options.stop('SIGINT')
    if (this.#commands.size > 0) return this.#commands.forEach((each) => each.abort())
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

  #press(keys: readonly Key[]): void {
    for (const key of keys) {
      const { prompt, action } = pressKey(this.#prompt, key)
      this.#prompt = prompt
      if (action?.type !== 'interrupt') this.#isAskedToLeave = false
      if (action !== undefined) this.#act(action)
    }
    this.#draw()
  }

  #act(action: Action): void {
    switch (action.type) {
      case 'say':
        return this.#say(action.text)
      case 'interrupt':
        return this.interrupt()
      case 'end':
        this.#isLastTurn = this.#state === 'turn'
        return this.#state === 'listening' ? this.#leave() : undefined
      case 'suspend':
        return this.#tty.suspend()
      case 'clear':
        return this.#screen.wipe()
    }
  }

  #say(text: string): void {
    if (this.#state === 'leaving') return this.print(['Not sent: the chat is ending.'])
    this.#isLastTurn = false
    this.#options.keep(text)
    const meaning = this.#understand(text)
    // During a turn, a message is shown later, so that it does not split the answer.
    if (typeof meaning === 'object' && 'say' in meaning && this.#state === 'turn')
      return void this.#ahead.push({ text, say: meaning.say })
    this.#echo(text)
    if (meaning === 'quit') return this.#leave()
    if ('say' in meaning) return this.#listener.resolve(meaning.say)
    void this.#run(meaning.run)
  }

  #understand(text: string): Meaning {
    try {
      return this.#options.understand(text)
    } catch (error) {
      return { run: () => Promise.reject(asUserError(error)) }
    }
  }

  #echo(text: string): void {
    const { rows } = promptRows(atEnd(text), this.#tty.size.width, Infinity, this.#paint)
    this.#screen.print(rows)
  }

  async #run(command: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const running = new AbortController()
    this.#commands.add(running)
    try {
      await command(running.signal)
    } catch (error) {
      this.refused(asUserError(error))
    } finally {
      this.#commands.delete(running)
      this.#draw()
    }
  }

  #draw(): void {
    const { width, height } = this.#tty.size
    const status = this.#describeStatus()
    const prompt = promptRows(this.#prompt.edit, width, Math.max(1, height - 2), this.#paint)
    this.#screen.draw(status === '' ? '' : this.#paint.dim(status), prompt)
  }

  #describeStatus(): string {
    const tasks = this.#tasks.size === 0 ? [] : [`${this.#tasks.size} running in the queue`]
    if (this.#state === 'leaving')
      return [...tasks, ...tasks.map(() => 'Ctrl-C stops them')].join('; ')
    if (this.#commands.size > 0) return 'waiting; Ctrl-C to stop'
    if (this.#turn?.signal.aborted === true) return 'stopping'
    if (this.#state === 'listening')
      return this.#isAskedToLeave ? 'press Ctrl-C again, or Ctrl-D, to leave' : tasks.join()
    const next = this.#ahead.length === 0 ? [] : [`${this.#ahead.length} more to send`]
    const last = this.#isLastTurn ? ['then the chat ends'] : []
    return [...tasks, 'Ctrl-C stops the turn', ...next, ...last].join('; ')
  }
}
