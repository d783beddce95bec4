import { errorCode, errorText, unreachable, UserError } from '../../base/errors.ts'
import { makeBoard, type Board } from './board.ts'
import { startEditor, type RunningEditor } from './editor.ts'
import { KeyParser, type Key } from '../../base/terminal/keys.ts'
import { render } from './render.ts'
import { BoardScreen } from './screen.ts'
import type { Effect } from './steps.ts'
import type { BoardStore } from './store.ts'
import { Tty } from '../../base/terminal/tty.ts'
import { makePaint, type Paint } from '../../base/terminal/columns.ts'
import { update, type BoardEvent } from './update.ts'

export interface SessionOptions {
  readonly store: BoardStore
  /** `$VISUAL` or `$EDITOR`. */
  readonly editor: string | undefined
  readonly hasColour: boolean
}

const ESC = '\u001b'
/** Alternate screen, no cursor, no wrapping, bracketed paste. */
const MODES = {
  enter: `${ESC}[?1049h${ESC}[?25l${ESC}[?7l${ESC}[?2004h`,
  leave: `${ESC}[?2026l${ESC}[0m${ESC}[?2004l${ESC}[?7h${ESC}[?25h${ESC}[?1049l`,
}

/** How long to wait whether an Escape begins a longer sequence. */
const ESCAPE_MS = 40
/** Polls once a second, but loading may take at most a twentieth of the time. */
const POLL_MS = 1000
const POLL_SHARE = 20
const TYPING_SHARE = 5
/** How long to wait for a stop, which the system may refuse. */
const SUSPEND_MS = 100

export class BoardSession {
  readonly #store: BoardStore
  readonly #editorWords: string | undefined
  readonly #paint: Paint
  readonly #terminal: Tty
  readonly #screen = new BoardScreen()
  readonly #keys = new KeyParser()
  readonly #ended = Promise.withResolvers<NodeJS.Signals | undefined>()
  #board: Board
  #editor: RunningEditor | undefined
  /** An editor has, or is about to get, the terminal. */
  #isAway = false
  #isOver = false
  #escapeTimer: Timer | undefined
  #pollTimer: Timer | undefined
  #loadMs = 0
  #pressedAt = 0

  constructor({ store, editor, hasColour }: SessionOptions) {
    this.#store = store
    this.#editorWords = editor?.trim() || undefined
    this.#paint = makePaint(hasColour)
    this.#terminal = new Tty(MODES, {
      onInput: this.#guard((chunk: Uint8Array) => this.#take(chunk)),
      onResize: this.#guard(() => this.#fitSize()),
      onGone: () => this.stop('SIGHUP'),
    })
    this.#board = makeBoard(store.name, this.#terminal.size, store.load())
  }

  /** Runs until the user or a signal ends it, restores the terminal and returns the signal. */
  async run(): Promise<NodeJS.Signals | undefined> {
    try {
      process.on('SIGCONT', this.#continue)
      this.#resume()
      this.#schedulePoll()
      return await this.#ended.promise
    } finally {
      process.off('SIGTSTP', this.#suspend)
      process.off('SIGCONT', this.#continue)
      clearTimeout(this.#pollTimer)
      clearTimeout(this.#escapeTimer)
      await this.#terminal.leave()
    }
  }

  /** Ends the session, and the editor with it. */
  stop(signal: NodeJS.Signals): void {
    // Ctrl-C in an editor reaches both processes but is meant for the editor.
    if (this.#isAway && signal === 'SIGINT') return
    this.#isOver = true
    if (this.#editor === undefined) return this.#ended.resolve(signal)
    void this.#editor.exited.then(() => this.#ended.resolve(signal))
    this.#editor.stop()
  }

  /** An exception in a callback ends the session. */
  #guard<Args extends unknown[]>(work: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      try {
        work(...args)
      } catch (error) {
        this.#ended.reject(error)
      }
    }
  }

  #take(chunk: Uint8Array): void {
    clearTimeout(this.#escapeTimer)
    this.#pressedAt = performance.now()
    this.#press(this.#keys.push(chunk))
    if (!this.#keys.isWaiting) return
    const flush = this.#guard(() => this.#press(this.#keys.flush()))
    this.#escapeTimer = setTimeout(flush, ESCAPE_MS)
  }

  #press(keys: readonly Key[]): void {
    for (const key of keys) {
      // Keys in the same chunk were typed for the editor or the shell.
      if (this.#isAway || this.#isOver) return
      this.#dispatch({ type: 'key', key })
    }
    this.#draw()
  }

  #dispatch(event: BoardEvent): void {
    const { board, effects } = update(this.#board, event)
    this.#board = board
    for (const effect of effects) this.#carryOut(effect)
  }

  #draw(): void {
    if (!this.#terminal.isEntered) return
    this.#terminal.write(this.#screen.draw(render(this.#board, this.#paint)))
  }

  #fitSize(): void {
    this.#screen.forget()
    this.#dispatch({ type: 'resized', size: this.#terminal.size })
    this.#draw()
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'edit':
        return this.#change(() => {
          const holder = this.#store.edit(effect.id, effect.changes)
          const warning =
            holder === undefined ? '' : ` It was held by ${holder}, who may still be working on it.`
          return { type: 'said', text: `${effect.done}${warning}`, isError: false }
        })
      case 'create':
        return this.#change(() => ({ type: 'created', id: this.#store.create(effect.title) }))
      case 'undo':
        return this.#change(() => {
          const id = this.#store.undo()
          const text = id === undefined ? 'Nothing to undo.' : `Undid the last change of ${id}.`
          return { type: 'said', text, isError: false }
        })
      case 'open':
        return this.#attempt(() => {
          this.#dispatch({ type: 'opened', brief: this.#store.brief(effect.id) })
        })
      case 'editor':
        return void this.#edit(effect.file).catch((error: unknown) => this.#ended.reject(error))
      case 'suspend':
        // Stops the whole job, including the program that started the board.
        return void process.kill(0, 'SIGTSTP')
      case 'quit':
        this.#isOver = true
        return this.#ended.resolve(undefined)
      default:
        return unreachable(effect)
    }
  }

  /** Makes a change, reloads the tasks and shows the result. */
  #change(work: () => BoardEvent): void {
    this.#attempt(() => {
      const event = work()
      this.#load()
      this.#dispatch(event)
    })
  }

  /** Shows user errors and file errors in the footer. */
  #attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!isExpected(error)) throw error
      this.#dispatch({ type: 'said', text: errorText(error), isError: true })
    }
  }

  #load(): void {
    const began = performance.now()
    this.#dispatch({ type: 'loaded', snapshot: this.#store.load() })
    this.#reopen()
    this.#loadMs = performance.now() - began
  }

  #reopen(): void {
    const id = this.#board.open?.brief.task.id
    if (id === undefined) return
    try {
      this.#dispatch({ type: 'opened', brief: this.#store.brief(id) })
    } catch (error) {
      if (!isExpected(error)) throw error
      this.#dispatch({ type: 'gone', why: errorText(error) })
    }
  }

  #schedulePoll(): void {
    const poll = this.#guard(() => {
      if (this.#isQuiet()) {
        this.#attempt(() => this.#load())
        this.#draw()
      }
      this.#schedulePoll()
    })
    this.#pollTimer = setTimeout(poll, Math.max(POLL_MS, this.#loadMs * POLL_SHARE))
  }

  /** Reading thousands of files must not delay a key. */
  #isQuiet(): boolean {
    const isTyping = performance.now() - this.#pressedAt < this.#loadMs * TYPING_SHARE
    return this.#terminal.isEntered && !isTyping
  }

  async #edit(file: string): Promise<void> {
    if (this.#editorWords === undefined) {
      const text = 'No editor set. Set VISUAL or EDITOR.'
      return this.#dispatch({ type: 'said', text, isError: true })
    }
    if (this.#isAway) return
    this.#isAway = true
    await this.#terminal.leave()
    if (this.#isOver) return
    const problem = await this.#runEditor(this.#editorWords, this.#store.pathOf(file))
    this.#isAway = false
    if (this.#isOver) return
    this.#attempt(() => this.#load())
    if (problem !== undefined) this.#dispatch({ type: 'said', text: problem, isError: true })
    this.#resume()
  }

  /** Returns the error message, if any. */
  async #runEditor(words: string, path: string): Promise<string | undefined> {
    try {
      this.#editor = startEditor(words, path)
      const code = await this.#editor.exited
      return code === 0 ? undefined : `The editor ended with exit code ${code}.`
    } catch (error) {
      if (!isExpected(error)) throw error
      const why = errorCode(error) === 'ENOENT' ? 'no such program' : errorText(error)
      return `Cannot start the editor '${words}': ${why}.`
    } finally {
      this.#editor = undefined
    }
  }

  readonly #suspend = (): void => {
    this.#leaveAndStop().catch((error: unknown) => this.#ended.reject(error))
  }

  async #leaveAndStop(): Promise<void> {
    await this.#terminal.leave()
    // The default action: the system ignores it if no shell could continue the process.
    process.off('SIGTSTP', this.#suspend)
    process.kill(process.pid, 'SIGTSTP')
    setTimeout(this.#resume, SUSPEND_MS)
  }

  /** After SIGSTOP, which cannot be caught, another program may have changed the terminal. */
  readonly #continue = this.#guard(() => {
    if (!this.#terminal.isEntered) return this.#resume()
    this.#terminal.reenter()
    this.#fitSize()
  })

  /** Takes the terminal, unless an editor has it. */
  readonly #resume = this.#guard(() => {
    if (this.#isOver) return
    process.off('SIGTSTP', this.#suspend).on('SIGTSTP', this.#suspend)
    if (this.#isAway || this.#terminal.isEntered) return
    this.#terminal.enter()
    this.#fitSize()
  })
}

function isExpected(error: unknown): boolean {
  return error instanceof UserError || errorCode(error) !== undefined
}
