import type { Entry } from './entry.ts'

// Messages to the model that forkhestra adds. They are recognised in stored conversations, so their
// wording must not change.

export const CONTINUE = 'Your answer was cut off at its greatest length. Go on where it ended.'
export const BUDGET_AGAIN =
  'There is budget again, and you have your tools. Continue with the work.'
const REPORT_REQUEST =
  'You have no further tools and turns. Report briefly now what is done, what is not, and where it is.'

export function reportRequest(why: string): string {
  return `The budget is used up: ${why}. ${REPORT_REQUEST}`
}

export function asksToContinue(message: Entry | undefined): boolean {
  return message?.type === 'user' && message.text === CONTINUE
}

export function asksForReport(message: Entry | undefined): boolean {
  return message?.type === 'user' && message.text.endsWith(REPORT_REQUEST)
}

/** Whether it is a prompt or a user message. */
export function isQuestion(message: Entry): boolean {
  if (message.type !== 'user' || message.text === BUDGET_AGAIN) return false
  return !asksToContinue(message) && !asksForReport(message)
}
