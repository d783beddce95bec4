import { next } from '../records/events/fold.ts'
import type { OutputChunk } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import { NO_EVENTS, type RunState } from '../records/events/state.ts'
import { cwdOption, describeWaits } from './describe.ts'
import { readerIn } from './merges.ts'
import { BranchViews } from './plain/branches.ts'
import { Summary } from './plain/summary.ts'
import type { Output, View } from './view.ts'

/** Shows a run as text, between the output of the agents. */
export class PlainView implements View {
  readonly #screen: Output
  readonly #branches: BranchViews
  readonly #summary: Summary
  readonly #shared

  /** `state` is the state before a resume; `here` is the folder of the reader. */
  constructor(
    screen: Output,
    isVerbose: boolean,
    state: RunState = NO_EVENTS,
    here?: string,
    isChat = false,
  ) {
    this.#screen = screen
    const command = (words: string) =>
      `forkhestra ${words}${cwdOption(this.#shared.state.cwd, here)}`
    const reader = () => readerIn(here, this.#shared.state.cwd)
    this.#shared = { state, isVerbose, maybeMarked: new Set<string>(), command, reader }
    this.#branches = new BranchViews(screen, this.#shared)
    this.#summary = new Summary(screen, this.#shared, isChat)
  }

  show(event: RunEvent, state = next(this.#shared.state, event)): void {
    this.#shared.state = state
    this.#branches.show(event)
    if (event.type === 'run_ended') this.#summary.show()
  }

  tick(now: number): void {
    const words = describeWaits(this.#shared.state, now)
    if (words !== undefined) this.#screen.status?.(`[forkhestra] ${words}`)
  }

  output(chunk: OutputChunk): void | Promise<void> {
    return this.#branches.output(chunk)
  }

  end(): void {
    this.#branches.end()
  }
}
