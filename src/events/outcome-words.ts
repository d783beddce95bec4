import { durationWords } from '../base/durations.ts'
import { shorten } from '../base/shorten.ts'
import type { Outcome } from './schema.ts'

/** How an agent went, where it went by itself: `exit 3`, `killed by SIGKILL`, `no more turns`. */
export function outcomeWords(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'exited':
      return outcome.error === undefined
        ? `exit ${outcome.code}`
        : `exit ${outcome.code}: ${oneLine(outcome.error)}`
    case 'signalled':
      return `killed by ${outcome.signal}`
    case 'max_turns':
    case 'auth_failed':
    case 'overloaded':
    case 'rate_limited':
      return `${NAMES[outcome.kind]}: ${oneLine(outcome.error)}`
    case 'budget':
      return `budget spent: ${oneLine(outcome.error)}`
    case 'timed_out':
      return `timed out after ${durationWords(outcome.ms)}`
    case 'idle':
      return `silent for ${durationWords(outcome.ms)}`
    case 'blocked':
      return `blocked: ${oneLine(outcome.reason)}`
    case 'marker':
    case 'interrupted':
    case 'spawn_failed':
      return ''
  }
}

const NAMES = {
  max_turns: 'out of turns',
  auth_failed: 'not allowed',
  overloaded: 'not available',
  rate_limited: 'limit reached',
}

const LONGEST = 300

function oneLine(text: string): string {
  return shorten(text.trim().replaceAll(/\s+/g, ' '), LONGEST)
}

/** How the detail of a step begins whose worker says that it is done, and its task is not. */
export const TASK_NOT_DONE = 'the task is not done'
