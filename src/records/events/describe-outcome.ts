import { formatDuration } from '../../base/durations.ts'
import { oneLine, shorten } from '../../base/shorten.ts'
import type { Outcome } from './schema.ts'

/** How an agent ended: `exit 3`, `killed by SIGKILL`, `timed out after 30 min`; empty if other messages say it. */
export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'exited':
      return outcome.error === undefined
        ? `exit ${outcome.code}`
        : `exit ${outcome.code}: ${brief(outcome.error)}`
    case 'signalled':
      return `killed by ${outcome.signal}`
    case 'max_turns':
    case 'auth_failed':
    case 'overloaded':
    case 'rate_limited':
      return `${NAMES[outcome.kind]}: ${brief(outcome.error)}`
    case 'budget':
      return `budget${outcome.error.startsWith(NOT_ENOUGH) ? '' : ' spent'}: ${brief(outcome.error)}`
    case 'timed_out':
      return `timed out after ${formatDuration(outcome.ms)}`
    case 'idle':
      return `silent for ${formatDuration(outcome.ms)}`
    case 'blocked':
      return `blocked: ${brief(outcome.reason)}`
    case 'marker':
    case 'interrupted':
    case 'spawn_failed':
      return ''
  }
}

const NAMES = {
  max_turns: 'out of turns',
  auth_failed: 'authentication failed',
  overloaded: 'temporarily unavailable',
  rate_limited: 'limit reached',
}

const LONGEST = 300

function brief(text: string): string {
  return shorten(oneLine(text), LONGEST)
}

/** How the reason begins if an agent stops before its budget is spent. */
export const NOT_ENOUGH = 'not enough left for another turn'
