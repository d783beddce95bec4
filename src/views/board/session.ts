import { errorCode, errorText, unreachable, UserError } from '../../base/errors.ts'
import { makeBoard, type Board } from './board.ts'
import type { Key } from '../terminal/keys.ts'
import { render } from './render.ts'
import type { Effect } from './steps.ts'
import type { BoardStore } from './store.ts'
import { Screen } from '../terminal/screen.ts'
import { Tty } from '../terminal/tty.ts'
import { makePaint, type Paint } from '../terminal/columns.ts'
import { update, type BoardEvent } from './update.ts'

interface SessionOptions {
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

/** Polls once a second, but spends at most a twentieth of the time on loading. */
const POLL_MS = 1000
const POLL_SHARE = 20

export class BoardSession {
  readonly #store: BoardStore
  readonly #editorWords: string | undefined
  readonly #paint: Paint
  readonly #terminal: Tty
  readonly #screen = new Screen()
  readonly #ended = Promise.withResolvers<NodeJS.Signals | undefined>()
  #board: Board
  #editor: ReturnType<typeof startEditor> | undefined
  /** An editor has the terminal, or is about to get it. */
  #isEditorOpen = false
  #isOver = false
  #pollTimer: Timer | undefined
  #loadMs = 0

  constructor({ store, editor, hasColour }: SessionOptions) {
    this.#store = store
    this.#editorWords = editor?.trim() || undefined
    this.#paint = makePaint(hasColour)
    this.#terminal = new Tty(MODES, {
      onKeys: this.#guard((keys: readonly Key[]) => this.#press(keys)),
      onTaken: this.#guard(() => this.#fitSize()),
      onResize: this.#guard(() => this.#fitSize()),
      onGone: () => this.stop('SIGHUP'),
    })
    this.#board = makeBoard(store.name, this.#terminal.size, store.load())
  }

  /** Runs until ended by the user or a signal, restores the terminal and returns the signal. */
  async run(): Promise<NodeJS.Signals | undefined> {
    try {
      this.#terminal.enter()
      this.#schedulePoll()
      return await this.#ended.promise
    } finally {
      clearTimeout(this.#pollTimer)
      await this.#terminal.leave()
    }
  }

  stop(signal: NodeJS.Signals): void {
    // Ctrl-C in an editor reaches both processes but is meant for the editor.
    if (this.#isEditorOpen && signal === 'SIGINT') return
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

  #press(keys: readonly Key[]): void {
    for (const key of keys) {
      // Further keys in the same chunk were meant for the editor or the shell.
      if (this.#isEditorOpen || this.#isOver) return
      this.#dispatch({ type: 'key', key })
    }
    this.#draw()
  }

  #dispatch(event: BoardEvent): void {
    const { board, effects } = update(this.#board, event)
    this.#board = board
    for (const effect of effects) this.#runEffect(effect)
  }

  #draw(): void {
    if (!this.#terminal.isEntered) return
    const rows = render(this.#board, this.#paint)
    const { width } = this.#board.size
    this.#terminal.write(this.#screen.draw({ rows, cursor: { row: 0, column: 0 } }, width))
  }

  #fitSize(): void {
    this.#terminal.write(this.#screen.wipe())
    this.#dispatch({ type: 'resized', size: this.#terminal.size })
    this.#draw()
  }

  #runEffect(effect: Effect): void {
    switch (effect.type) {
      case 'edit':
        return this.#change(() => {
          const holder = this.#store.edit(effect.id, effect.changes)
          const warning =
            holder === undefined ? '' : ` It was held by ${holder}, who may still be working on it.`
          return { type: 'message', text: `${effect.done}${warning}`, isError: false }
        })
      case 'create':
        return this.#change(() => ({ type: 'created', id: this.#store.create(effect.title) }))
      case 'undo':
        return this.#change(() => {
          const id = this.#store.undo()
          const text = id === undefined ? 'Nothing to undo.' : `Undid the last change to ${id}.`
          return { type: 'message', text, isError: false }
        })
      case 'open':
        return this.#attempt(() => {
          this.#dispatch({ type: 'opened', brief: this.#store.brief(effect.id) })
        })
      case 'editor':
        return void this.#edit(effect.file).catch((error: unknown) => this.#ended.reject(error))
      case 'suspend':
        return this.#terminal.suspend()
      case 'quit':
        this.#isOver = true
        return this.#ended.resolve(undefined)
      default:
        return unreachable(effect)
    }
  }

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
      this.#dispatch({ type: 'message', text: errorText(error), isError: true })
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
      if (this.#terminal.isEntered) this.#attempt(() => this.#load())
      this.#draw()
      this.#schedulePoll()
    })
    this.#pollTimer = setTimeout(poll, Math.max(POLL_MS, this.#loadMs * POLL_SHARE))
  }

  async #edit(file: string): Promise<void> {
    if (this.#editorWords === undefined) {
      const text = 'No editor set. Set VISUAL or EDITOR.'
      return this.#dispatch({ type: 'message', text, isError: true })
    }
    if (this.#isEditorOpen) return
    this.#isEditorOpen = true
    await this.#terminal.leave()
    if (this.#isOver) return
    const problem = await this.#runEditor(this.#editorWords, this.#store.pathOf(file))
    this.#isEditorOpen = false
    if (this.#isOver) return
    this.#attempt(() => this.#load())
    if (problem !== undefined) this.#dispatch({ type: 'message', text: problem, isError: true })
    this.#terminal.enter()
  }

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
}

function isExpected(error: unknown): boolean {
  return error instanceof UserError || errorCode(error) !== undefined
}

const PLAIN_WORDS = /^[\w./+:@%-]+( +[\w./+=:@%-]+)*$/
const GRACE_MS = 2000

/** Starts `$EDITOR`, which may be a program with options or a shell command. */
function startEditor(editor: string, path: string) {
  const words = PLAIN_WORDS.test(editor.trim())
    ? editor.trim().split(/ +/)
    : ['sh', '-c', `${editor} "$1"`, 'sh']
  const child = Bun.spawn([...words, path], { stdio: ['inherit', 'inherit', 'inherit'] })
  const { promise: givenUp, resolve: giveUp } = Promise.withResolvers<number>()
  return {
    exited: Promise.race([child.exited, givenUp]),
    stop() {
      child.kill('SIGTERM')
      // Do not wait longer for an editor that ignores the signal.
      setTimeout(() => giveUp(1), GRACE_MS).unref()
    },
  }
}
