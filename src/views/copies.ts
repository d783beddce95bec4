import { listed } from '../base/shorten.ts'
import { counted } from '../base/amounts.ts'
import type { GroupState } from '../records/events/group-state.ts'
import type { RunState } from '../records/events/state.ts'
import { isSettled, type StepState } from '../records/events/step-state.ts'
import { countIterations, describeReason, describeStep, isNotStarted } from './describe.ts'

export function groupByStep(steps: readonly StepState[]): StepState[][] {
  return [...Map.groupBy(steps, ({ number }) => number).values()]
}

/** `#2`, or `#1.2` in a copy of a group; empty for a step without copies. */
export function copyNumber({ key }: Pick<StepState, 'key'>): string {
  const numbers = Array.from(key.matchAll(/\/c(\d+)/g), ([, number]) => number)
  return numbers.length === 0 ? '' : `#${numbers.join('.')}`
}

/** `complete (4 copies, 31 iterations)`, `2 of 4 copies complete (12 iterations); #3: conflict`. */
export function describeCopies(copies: readonly StepState[]): string {
  const [first] = copies
  if (first === undefined || copies.length === 1)
    return first === undefined ? '' : describeStep(first)
  const total = copies.reduce((sum, step) => sum + countIterations(step), 0)
  const isLoop = first.maxIterations !== undefined
  const iterations = isLoop ? [counted(total, 'iteration')] : []
  const details = (...more: string[]) => {
    const words = [...more, ...iterations]
    return words.length === 0 ? '' : ` (${words.join(', ')})`
  }
  const rest = copies.filter((step) => !isSettled(step))
  const all = `${copies.length} copies`
  const same = describeStep(first)
  const isIdle = (step: StepState) => step.isPassed || isNotStarted(step)
  if (copies.every((step) => isIdle(step) && describeStep(step) === same)) return `${same}, ${all}`
  if (rest.length === 0) return `complete${details(all)}`
  const ends = [...Map.groupBy(rest, describeEnd)]
  const [[end] = ['']] = ends
  if (rest.length === copies.length && ends.length === 1)
    return end === NOT_STARTED ? end : `incomplete (${[all, ...iterations, end].join(', ')})`
  const done = `${copies.length - rest.length} of ${all} complete`
  return [
    `${done}${details()}`,
    ...ends.map(([words, some]) => `${listCopies(some)}: ${words}`),
  ].join('; ')
}

/** `Steps 1-2: complete (2/3 rounds)`, for the groups with rounds that end with a step. */
export function describeRounds({ groups = [] }: RunState, last: number): string[] {
  const ending = groups.filter((group) => group.last === last && group.maxRounds !== undefined)
  const all = [...Map.groupBy(ending, ({ id }) => id).values()]
  return all.toReversed().map((copies) => {
    const { first, name } = copies[0]!
    const steps = first === last ? `Step ${last}` : `Steps ${first}-${last}`
    return `${steps}${name === undefined ? '' : ` (${name})`}: ${describeRound(copies)}`
  })
}

function describeRound(copies: readonly GroupState[]): string {
  const [{ round, usedRounds, maxRounds = 0 }] = copies as [GroupState]
  const open = copies.filter((group) => !isSettled(group))
  const rounds = copies.reduce((sum, group) => sum + group.round, 0)
  if (rounds === 0) return NOT_STARTED
  const details =
    copies.length === 1
      ? `${round}/${counted(maxRounds + usedRounds, 'round')}`
      : `${copies.length} copies, ${counted(rounds, 'round')}`
  return `${open.length === 0 ? 'complete' : 'incomplete'} (${details})`
}

const NOT_STARTED = 'not started'

function describeEnd(step: StepState): string {
  const { reason, detail } = step
  if (reason === 'max_iterations') return detail ?? 'max iterations reached'
  return reason === undefined || reason === 'skipped' ? NOT_STARTED : describeReason(step)
}

const MOST_LISTED = 5

/** `#1, #3`; at most five. */
export function listCopies(copies: readonly StepState[]): string {
  return listed(copies.map(copyNumber), MOST_LISTED)
}
