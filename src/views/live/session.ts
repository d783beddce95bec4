import { errorCode, NotNow, UserError } from '../../base/errors.ts'
import { Activities } from '../status/activity.ts'
import type { SpendingLimits } from '../status/status-rows.ts'
import { makePaint, type Paint } from '../terminal/columns.ts'
import type { Key } from '../terminal/keys.ts'
import { Screen } from '../terminal/screen.ts'
import { TerminalWriter } from '../terminal/terminal-writer.ts'
import { Tty } from '../terminal/tty.ts'
import { AttemptLog } from './attempt-log.ts'
import { changeLines, overviewLines } from './detail.ts'
import { History, type Entry } from './history.ts'
import { followRun, makeLive, selectedIndex, withMessage, type Live, type Seen } from './live.ts'
import { LogLines, type LogLine } from './log-lines.ts'
import type { RecordReader } from './record-reader.ts'
import { render } from './render.ts'
import { entryOf, treeRows, type TreeRow } from './tree.ts'
import { pressKey, type LiveEffect } from './update.ts'

/** What the plan of a run says, which takes a while to read. */
export interface PlanFacts {
  /** Numbers of the steps whose events report what their agents print. */
  readonly structured: ReadonlySet<number>
  readonly limits: SpendingLimits
}

type Action = 'stop' | 'stop_now' | 'retry_now'

interface SessionOptions {
  readonly id: string
  readonly reader: RecordReader
  readonly hasColour: boolean
  readonly readPlan: () => PlanFacts
  /** Asks the run for something, and returns what to say about it. */
  readonly ask: (action: Action) => string
  /** Ctrl-C; without it, the view ends. */
  readonly interrupt?: () => void
}

export type LiveEnd = 'quit' | 'resume' | 'gone' | NodeJS.Signals

const ESC = '\u001b'
/** Alternate screen, no cursor, no wrapping, bracketed paste, mouse. */
const MODES = {
  enter: `${ESC}[?1049h${ESC}[?25l${ESC}[?7l${ESC}[?2004h${ESC}[?1000h${ESC}[?1006h`,
  leave: `${ESC}[?2026l${ESC}[0m${ESC}[?1006l${ESC}[?1000l${ESC}[?2004l${ESC}[?7h${ESC}[?25h${ESC}[?1049l`,
}

/** How often the record is read. */
const POLL_MS = 250
/** How many polls there are between two looks at the process of the run. */
const POLLS_PER_LIFE = 4

const NO_PLAN: PlanFacts = { structured: new Set(), limits: {} }

/** A run on the whole terminal, as its record grows. */
export class LiveSession {
  readonly #options: SessionOptions
  readonly #reader: RecordReader
  readonly #paint: Paint
  readonly #writer: TerminalWriter
  readonly #terminal: Tty
  readonly #screen = new Screen()
  readonly #history = new History()
  readonly #activities = new Activities()
  readonly #ended = Promise.withResolvers<LiveEnd>()
  #live: Live
  #plan: PlanFacts | undefined
  #log: AttemptLog | undefined
  /** What else is on the right side, and what it was made of. */
  #text: { readonly key: string; readonly lines: LogLines } | undefined
  #isReading = true
  #polls = 0
  #timer: Timer | undefined

  constructor(options: SessionOptions) {
    this.#options = options
    this.#reader = options.reader
    this.#paint = makePaint(options.hasColour)
    this.#writer = new TerminalWriter(1, () => this.stop('gone'), false)
    const events = {
      onKeys: this.#guard((keys: readonly Key[]) => this.#press(keys)),
      onTaken: this.#guard(() => this.#fitSize()),
      onResize: this.#guard(() => this.#fitSize()),
      onGone: () => this.stop('gone'),
    }
    this.#terminal = new Tty(MODES, events, this.#writer)
    this.#live = makeLive(this.#terminal.size)
  }

  /** Runs until the user or a signal ends it, and restores the terminal. */
  async run(): Promise<LiveEnd> {
    try {
      const isMore = !this.#reader.isShort || this.#read()
      this.#terminal.enter()
      this.#schedule(isMore ? 0 : POLL_MS)
      return await this.#ended.promise
    } finally {
      clearTimeout(this.#timer)
      await this.#terminal.leave()
    }
  }

  stop(why: LiveEnd): void {
    this.#ended.resolve(why)
  }

  say(text: string): void {
    this.#live = withMessage(this.#live, text)
    this.#draw()
  }

  /** An exception in a callback ends the session. */
  #guard<Args extends unknown[]>(work: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      try {
        work(...args)
      } catch (error) {
        const isRemoved = errorCode(error) === 'ENOENT'
        this.#ended.reject(
          isRemoved ? new NotNow(`The record ${this.#reader.folder} has been removed.`) : error,
        )
      }
    }
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(
      this.#guard(() => this.#poll()),
      ms,
    )
  }

  #poll(): void {
    // While the terminal belongs to another program, nothing is read.
    if (this.#terminal.isEntered) {
      const isMore = this.#read()
      // The older events of a long run are read in small parts, and only the result is drawn.
      if (isMore) return this.#schedule(0)
      this.#draw()
    }
    this.#schedule(POLL_MS)
  }

  #read(): boolean {
    // First, so that nothing the process wrote last is missed.
    if (this.#polls++ % POLLS_PER_LIFE === 0) this.#reader.checkLife()
    const { events, isMore } = this.#reader.read()
    for (const { event, from, to } of events) {
      this.#history.take(event, from, to)
      this.#activities.take(event)
      this.#log?.take(event)
    }
    this.#isReading = isMore
    return isMore
  }

  #press(keys: readonly Key[]): void {
    // They are meant for the session that has the terminal now.
    if (!this.#terminal.isEntered) return
    for (const key of keys) {
      const seen = this.#see()
      const { live, effect } = pressKey(this.#live, seen, key)
      this.#live = live
      if (effect !== undefined && this.#run(effect)) return
    }
    this.#draw()
  }

  /** Returns whether further keys are meant for another program. */
  #run(effect: LiveEffect): boolean {
    switch (effect) {
      case 'quit':
      case 'resume':
        this.stop(effect)
        return true
      case 'suspend':
        this.#terminal.suspend()
        return true
      case 'interrupt':
        if (this.#options.interrupt === undefined) this.stop('SIGINT')
        else this.#options.interrupt()
        return false
      default:
        this.#live = this.#ask(effect)
        return false
    }
  }

  #ask(action: Action): Live {
    try {
      return withMessage(this.#live, this.#options.ask(action))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      return withMessage(this.#live, error)
    }
  }

  #fitSize(): void {
    this.#live = { ...this.#live, size: this.#terminal.size }
    this.#terminal.write(this.#screen.wipe())
    this.#draw()
  }

  #draw(): void {
    // A stalled terminal gets no frames: they would be out of date when it continues.
    if (!this.#terminal.isEntered || this.#writer.isBehind) return
    const seen = this.#see()
    const rows = render(this.#live, seen, this.#paint)
    const { width } = this.#live.size
    this.#terminal.write(this.#screen.draw({ rows, cursor: { row: 0, column: 0 } }, width))
  }

  /** The run as it is known now, with what the selected row shows. */
  #see(): Seen {
    const { state, status, isStopRequested } = this.#reader
    const history = this.#history
    const run = { status, state, history }
    if (!this.#isReading) this.#plan ??= this.#options.readPlan()
    if (!this.#isReading && !this.#reader.isActive) history.endAll()
    const all = treeRows(run, this.#live.opened)
    this.#live = followRun(this.#live, all)
    // The branches around a selected row that has closed are visible.
    const row = all[selectedIndex(this.#live, all)]!
    const seen = {
      ...run,
      id: this.#options.id,
      now: Date.now(),
      activities: this.#activities,
      limits: (this.#plan ?? NO_PLAN).limits,
      isStopRequested,
      isReading: this.#isReading,
      rows: all,
    }
    const entry = entryOf(row)
    if (entry !== undefined && this.#live.tab === 'log' && !this.#isReading) {
      if (this.#log?.entry !== entry) {
        const { isStructured = this.#plan?.structured.has(entry.of.step) ?? false } = entry
        this.#log = new AttemptLog(entry, this.#reader, isStructured)
      } else this.#log.poll()
      return { ...seen, lines: this.#log.lines, isFollowed: true }
    }
    const empty = { ...seen, lines: new LogLines(), isFollowed: false }
    return { ...empty, lines: this.#textOf(row, empty) }
  }

  #textOf(row: TreeRow, seen: Seen): LogLines {
    const entry = entryOf(row)
    const { tab } = this.#live
    if (entry !== undefined && tab === 'prompt') return this.#promptOf(entry)
    const lines =
      entry === undefined ? overviewLines(row, seen) : tab === 'log' ? [] : changeLines(entry.of)
    return this.#makeText(JSON.stringify(lines), () => lines)
  }

  #promptOf({ promptHash }: Entry): LogLines {
    return this.#makeText(`prompt ${promptHash}`, () => {
      const text = promptHash === undefined ? undefined : this.#reader.prompt(promptHash)
      return [{ text: text ?? 'No prompt.', kind: text === undefined ? 'own' : 'output' }]
    })
  }

  /** Lines keep their place on the screen until they change. */
  #makeText(key: string, make: () => readonly LogLine[]): LogLines {
    if (this.#text?.key === key) return this.#text.lines
    const lines = new LogLines()
    for (const line of make()) lines.add(line)
    this.#text = { key, lines }
    return lines
  }
}
