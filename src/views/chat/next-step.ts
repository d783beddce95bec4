import { localTime } from '../../base/local-time.ts'
import type { Outcome } from '../../records/events/schema.ts'

const FULL = 'the context of the model is full'

/** What a person may do after a turn that failed; undefined where the reason says it. */
export function nextStep(outcome: Outcome, run: string): string | undefined {
  const resume = `forkhestra chat --resume ${run}`
  switch (outcome.kind) {
    case 'exited':
      if (outcome.error?.includes(FULL) !== true) return undefined
      return 'This conversation is too long to continue; start a new one with forkhestra chat'
    case 'auth_failed':
      return outcome.error.startsWith('404')
        ? `Choose an existing model: ${resume} --model provider/id`
        : `See which key is used: forkhestra doctor. Set the right one and continue: ${resume}`
    case 'rate_limited':
      return `Try again ${describeLater(outcome.resetsAt)}, also with ${resume}`
    case 'overloaded':
      return `Try again later, also with ${resume}`
    default:
      return undefined
  }
}

function describeLater(resetsAt: number | undefined): string {
  return resetsAt === undefined ? 'later' : `after ${localTime(resetsAt * 1000)}`
}
