import { counted } from '../../base/amounts.ts'
import type { EventOf } from '../../records/events/event.ts'
import { groupAt, type RunState } from '../../records/events/state.ts'
import { isComplete } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { SIGNS } from '../../chain/parse/items.ts'
import { describeSteps } from '../runs.ts'
import type { Output } from '../view.ts'
import type { OwnLines } from './own-lines.ts'

/** Announces the beginning and end of steps and groups, with empty lines between them. */
export class Headings {
  readonly #screen: Output
  readonly #lines: OwnLines
  readonly #isBranch: boolean
  /** Whether the line of a round is the last one. */
  #isRoundShown = false

  constructor(screen: Output, lines: OwnLines, isBranch: boolean) {
    this.#screen = screen
    this.#lines = lines
    this.#isBranch = isBranch
  }

  /** Only repeated groups have rounds worth mentioning. */
  startGroup({ scope, round }: EventOf<'group_started'>, state: RunState): void {
    const group = groupAt(state, keyOfScope(scope))
    if (group === undefined) return
    const { key, kind, maxRounds, usedRounds, name, first } = group
    const isLater = first > 1 || round > 1
    if (maxRounds !== undefined) {
      const of = name === undefined ? '' : ` of ${name}`
      if (isLater) this.#separate()
      this.#lines.say(`Round ${round}/${maxRounds + usedRounds}${of}`)
      this.#isRoundShown = true
    }
    if (kind !== 'parallel') return
    const items = describeSteps(state, key, SIGNS.parallel)
    const of = name === undefined || maxRounds !== undefined ? '' : ` (${name})`
    this.begin(`In parallel${of}: ${items}`, isLater)
  }

  /** The heading of a part of the run, after an empty line. */
  begin(text: string | undefined, isLater: boolean): void {
    if (this.#isRoundShown) this.#isRoundShown = false
    else if (isLater) this.#separate()
    if (text !== undefined) this.#lines.say(text)
  }

  endGroup(event: EventOf<'group_ended'>, state: RunState): void {
    const { scope, round, reason, detail, passed } = event
    const { maxRounds, name, id } = groupAt(state, keyOfScope(scope)) ?? {}
    if (passed === true) return this.#lines.say(`Skipped: ${name ?? `group ${id}`} (${detail})`)
    if (maxRounds === undefined) return
    if (isComplete(reason)) return this.#lines.say(`Complete after ${counted(round, 'round')}`)
    if (reason === 'max_iterations')
      this.#lines.say(`Not complete after ${counted(round, 'round')}`)
  }

  /** Among the lines of several branches, an empty line would separate nothing. */
  #separate(): void {
    if (!this.#isBranch) this.#screen.line('')
  }
}
