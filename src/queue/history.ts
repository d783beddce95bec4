/** The transitions in a store's history: of tasks, then of messages, then others. */
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

/** One row of the history. */
export interface Entry {
  readonly what: What
  /** The id of a task or of a message. */
  readonly subject: string
  /** Of the task; for `pushed`, the attempt at the parent that pushed it, 0 if it is for all. */
  readonly attempt: number
  readonly detail: string
}

/** The id of the message with a task's result. */
export function resultId(task: string): string {
  return `${task}.result`
}
