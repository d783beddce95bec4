/** The transitions that a store's history tells of; tasks first, then messages, then the rest. */
export type What =
  | 'pushed'
  | 'started'
  | 'claimed'
  | 'told'
  | 'over'
  | 'ended'
  | 'sent'
  | 'leased'
  | 'returned'
  | 'forwarded'
  | 'acked'
  | 'deadlock'
  | 'main'

/** One line of it. */
export interface Entry {
  readonly what: What
  /** The id of a task or of a message. */
  readonly subject: string
  /** Of the task; for `pushed`, the one at the parent that has pushed it, 0 where it is for all. */
  readonly attempt: number
  readonly detail: string
}

/** By this a task's one message is known. */
export function resultId(task: string): string {
  return `${task}.result`
}
