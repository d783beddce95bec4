import { localTime } from '../base/local-time.ts'
import type { Outcome } from '../events/schema.ts'

const FULL = 'the context of the model is full'

/** What a person may do after a turn that failed; undefined where the reason says it. */
export function nextStep(outcome: Outcome, run: string): string | undefined {
  const resume = `forkhestra chat --resume ${run}`
  switch (outcome.kind) {
    case 'exited':
      if (outcome.error?.includes(FULL) !== true) return undefined
      return 'This conversation has become too long to go on: begin a new one with forkhestra chat'
    case 'auth_failed':
      return outcome.error.startsWith('404')
        ? `Name a model that there is: ${resume} --model provider/id`
        : `See which key is used: forkhestra doctor. Set the right one, and go on: ${resume}`
    case 'rate_limited':
      return `Say it again ${laterWords(outcome.resetsAt)}, also with ${resume}`
    case 'overloaded':
      return `Say it again later, also with ${resume}`
    default:
      return undefined
  }
}

function laterWords(resetsAt: number | undefined): string {
  return resetsAt === undefined ? 'later' : `after ${localTime(resetsAt * 1000)}`
}
