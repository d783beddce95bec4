import type { Agent, TaskEnd } from './task.ts'

export interface NewMessage {
  /** Created by the sender, so that a repeated send is idempotent. */
  readonly id: string
  readonly run: string
  readonly from: Agent
  readonly to: string
  readonly body: string
}

interface Envelope {
  readonly id: string
  /** The name of the agent that sent it, or of the task that ended. */
  readonly from: string
  readonly at: number
}

export type InboxMessage =
  | (Envelope & {
      readonly kind: 'text'
      readonly body: string
      /** The original recipient, if that agent ended before reading the message. */
      readonly to?: string
    })
  | (Envelope & {
      readonly kind: 'result'
      readonly task: string
      readonly attempt: number
      readonly end: TaskEnd
    })

/** A message leased to one reader: gone once acknowledged, delivered again otherwise. */
export interface Lease {
  readonly message: InboxMessage
  readonly reader: string
  /** Counts deliveries of this message. */
  readonly delivery: number
}

export interface LeaseQuery {
  /** Names of senders; default: all. */
  readonly from?: readonly string[] | undefined
  /** The newest first. */
  readonly lifo?: boolean | undefined
  readonly max?: number | undefined
}

/** One message from anyone, or one from each of these senders. */
export interface TakeQuery extends Omit<LeaseQuery, 'max'> {
  /** Takes available messages even if a sender may still answer. */
  readonly isLast?: boolean | undefined
}

/** A message as `/inbox` shows it. */
export interface InboxLine {
  readonly id: string
  readonly from: string
  /** The original recipient, if that agent ended before reading the message. */
  readonly to?: string
  readonly kind: InboxMessage['kind']
  readonly ageMs: number
  readonly isLeased: boolean
  readonly reader?: string
}

export type SenderStatus = 'received' | 'running' | 'idle' | 'dead'

/** Whether waiting in `/receive` can end. */
export interface ReceiveStatus {
  readonly senders: readonly { readonly name: string; readonly status: SenderStatus }[]
  /** There is no message, and none of the senders can send one. */
  readonly nothingToWaitFor: boolean
  /** Another reader has one of their messages, which returns silently if that reader dies. */
  readonly isHeld: boolean
  /** The names of agents that wait for each other, including this one. */
  readonly deadlock: readonly string[] | null
}

/** The status, with the messages that were leased in the same transaction. */
export interface Taken extends ReceiveStatus {
  readonly leases: readonly Lease[]
}

/** Whether each sender has answered or never will. */
export function haveAllAnswered({ from }: TakeQuery, { senders }: ReceiveStatus): boolean {
  return from === undefined || senders.every(({ status }) => status !== 'running')
}

/** A message as scripts and agents read it. */
export function messageJson(message: InboxMessage) {
  const { kind, from, at: ms } = message
  const head = { kind, from, at: new Date(ms).toISOString() }
  if (message.kind === 'text')
    return { ...head, ...(message.to && { to: message.to }), body: message.body }
  const { task, attempt, end } = message
  const { cost, notQueued } = end
  const refused = notQueued === undefined ? {} : { not_queued: notQueued }
  if (end.success) {
    const tail = cost === undefined ? {} : { cost }
    return { ...head, task, attempt, success: true, output: end.output, ...tail, ...refused }
  }
  const { class: failure, error, partialOutput = '' } = end
  const rest = { error, partial_output: partialOutput, cost: cost ?? null }
  return { ...head, task, attempt, success: false, class: failure, ...rest, ...refused }
}
