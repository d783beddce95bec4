import { formatMoney, formatTokens } from '../base/amounts.ts'
import { formatDuration } from '../base/durations.ts'
import { localTime } from '../base/local-time.ts'
import { listed, oneLine } from '../base/shorten.ts'
import type { Attempt } from '../records/events/attempts.ts'
import { describeOutcome } from '../records/events/describe-outcome.ts'
import type { Outcome, Usage } from '../records/events/schema.ts'
import { countTokens } from '../records/events/spent.ts'
import { isComplete, isFailure } from '../records/events/step-state.ts'
import { REFUSALS } from './describe.ts'
import { WIDEST_CELL } from './runs.ts'
import type { Cell } from './table.ts'
import { cut } from './terminal/columns.ts'

/** How an attempt ended, in words, and whether that is good or bad. */
interface Ending {
  readonly words: string
  readonly look: 'green' | 'red' | 'yellow' | 'dim'
}

type Ended = Pick<
  Attempt,
  'outcome' | 'isKilled' | 'refusal' | 'again' | 'ends' | 'commands' | 'merge'
>

/** `marker`, `marker refused: npm test exit 1`, `killed`, `limit reached: …`. */
export function describeAttempt(of: Ended): Ending {
  const { outcome, isKilled, refusal, again, ends, merge } = of
  if (isKilled === true) return { words: 'killed with its run', look: 'red' }
  if (outcome === undefined) return { words: 'running', look: 'yellow' }
  if (outcome.kind === 'rate_limited' || outcome.kind === 'overloaded')
    return { words: describeEnding(outcome), look: 'yellow' }
  if (refusal !== undefined) {
    // The next iteration continues with the next task.
    const look = refusal === 'tasks_ready' ? 'dim' : 'yellow'
    return { words: `marker refused: ${whyRefused(of)}`, look }
  }
  if (merge !== undefined && merge.result !== 'merged')
    return { words: `not merged: ${describeMerge(merge)}`, look: 'yellow' }
  const uncounted = again === true ? ', does not count' : ''
  const words = `${describeEnding(outcome)}${uncounted}`
  if (outcome.kind === 'marker') return { words, look: 'green' }
  if (ends?.reason === 'until') {
    const isCommand = of.commands.some(({ role, result }) => role === 'until' && result === 'ok')
    const why = `${isCommand ? 'until succeeded' : 'complete'}: ${ends.detail}`
    return { words: ends.detail === undefined ? words : why, look: 'green' }
  }
  if (isComplete(ends?.reason)) return { words, look: 'green' }
  if (ends?.reason === 'gate_failed')
    return { words: `check failed: ${whyRefused(of)}`, look: 'red' }
  const isBad = isFailure(outcome) || outcome.kind !== 'exited'
  return { words, look: isBad ? 'red' : 'dim' }
}

/** The gate that failed, or another reason. */
function whyRefused({ refusal, commands, ends }: Ended): string {
  const gate = commands.findLast(({ role, result }) => role === 'verify' && result !== 'ok')
  if (gate !== undefined) return `${gate.command} ${gate.detail}`
  return refusal === undefined ? (ends?.detail ?? 'a check failed') : REFUSALS[refusal]
}

function describeMerge({ result, files = [], detail }: NonNullable<Attempt['merge']>): string {
  if (result === 'conflict') return `conflict in ${listed(files, 3)}`
  return oneLine(detail ?? result)
}

/** How an iteration ended, for every kind of outcome. */
export function describeEnding(outcome: Outcome): string {
  if (outcome.kind === 'spawn_failed') return `could not be started: ${outcome.error}`
  return describeOutcome(outcome) || outcome.kind.replaceAll('_', ' ')
}

export const ATTEMPT_HEAD = ['#', 'start', 'time', 'outcome', 'task', 'commits', 'tokens', 'cost']
/** Columns of `attemptCells` that are numbers. */
export const ATTEMPT_NUMBERS = [0, 2, 5, 6, 7]
/** The column that has long texts. */
export const ATTEMPT_OUTCOME = 3

/** The cells of an attempt's row; `withDate` if the run took several days. */
export function attemptCells(attempt: Attempt, withDate: boolean): Cell[] {
  const { iteration, ms, tasks, changes, usage, startedAt } = attempt
  const { words, look } = describeAttempt(attempt)
  return [
    attempt.attempt > 1 ? `${iteration}.${attempt.attempt}` : String(iteration),
    { text: localTime(startedAt).slice(withDate ? 5 : 11), look: 'dim' },
    ms === undefined ? '' : formatDuration(ms),
    { text: cut(oneLine(words), WIDEST_CELL), look },
    tasks.map(({ id }) => id).join(' '),
    changes === undefined || changes.commits === 0 ? '' : String(changes.commits),
    formatCount(usage),
    usage?.costUsd === undefined ? '' : formatMoney(usage.costUsd),
  ]
}

function formatCount(usage: Usage | undefined): string {
  const count = usage?.tokens === undefined ? 0 : countTokens({ tokens: usage.tokens })
  return count === 0 ? '' : formatTokens(count)
}
