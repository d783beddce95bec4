import { next } from '../records/events/fold.ts'
import type { OutputChunk } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import { NO_EVENTS, type RunState } from '../records/events/state.ts'
import { isWaiting } from '../records/events/waits.ts'
import { cwdOption } from './describe.ts'
import { readerIn } from './merges.ts'
import { BranchViews } from './plain/branches.ts'
import { Summary } from './plain/summary.ts'
import { Activities } from './status/activity.ts'
import { statusRows, statusTitle, type SpendingLimits } from './status/status-rows.ts'
import type { LiveFrame } from './terminal/live-lines.ts'
import type { Size } from './terminal/tty.ts'
import type { Output, View } from './view.ts'

interface Options {
  /** The state before a resume. */
  readonly state?: RunState
  /** The folder of the reader. */
  readonly here?: string
  readonly isChat?: boolean
  /** For a run that is at work: what it may spend. Rows show what happens now. */
  readonly live?: SpendingLimits
}

/** Shows a run as text, between the output of the agents. */
export class PlainView implements View {
  readonly #screen: Output
  readonly #branches: BranchViews
  readonly #summary: Summary
  readonly #shared
  readonly #activities = new Activities()
  /** A run that is over at once has no rows. */
  #hasTicked = false

  constructor(
    screen: Output,
    isVerbose: boolean,
    { state = NO_EVENTS, here, isChat = false, live }: Options = {},
  ) {
    this.#screen = screen
    const command = (words: string) =>
      `forkhestra ${words}${cwdOption(this.#shared.state.cwd, here)}`
    const reader = () => readerIn(here, this.#shared.state.cwd)
    this.#shared = { state, isVerbose, maybeMarked: new Set<string>(), command, reader }
    this.#branches = new BranchViews(screen, this.#shared)
    this.#summary = new Summary(screen, this.#shared, isChat)
    if (live !== undefined) screen.live?.((size) => this.#frame(live, size))
  }

  show(event: RunEvent, state = next(this.#shared.state, event)): void {
    this.#shared.state = state
    this.#activities.take(event)
    this.#branches.show(event)
    this.#screen.refresh?.()
    if (event.type === 'run_ended') this.#summary.show()
  }

  tick(): void {
    this.#hasTicked = true
    this.#screen.refresh?.()
  }

  output(chunk: OutputChunk): void | Promise<void> {
    this.#activities.output(chunk.scope, Date.now())
    return this.#branches.output(chunk)
  }

  end(): void {
    this.#branches.end()
  }

  #frame(limits: SpendingLimits, size: Size): LiveFrame {
    const { state } = this.#shared
    const rows = this.#hasTicked
      ? statusRows(state, this.#activities, limits, Date.now(), size)
      : []
    return {
      rows,
      title: rows.length === 0 ? '' : statusTitle(state),
      progress: isWaiting(state) ? 'waiting' : 'working',
    }
  }
}
