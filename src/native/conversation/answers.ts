import type { AnswerEntry, CallPart, Entry } from './entry.ts'

export function callsOf({ parts }: AnswerEntry): CallPart[] {
  return parts.filter((part) => part.type === 'call')
}

/** Whether an answer has ended at its greatest length, in the middle of its words. */
export function isCut({ parts, finish }: Pick<AnswerEntry, 'parts' | 'finish'>): boolean {
  return finish === 'length' && !parts.some(({ type }) => type === 'call')
}

/** Whether somebody was asked for it. */
export function isOwnAnswer(message: Entry): message is AnswerEntry {
  return message.type === 'assistant' && message.isMade !== true
}
