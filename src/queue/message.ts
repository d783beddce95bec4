import type { Agent, End } from './task.ts'

export interface NewMessage {
  /** Made by who sends, so that sending twice is sending once. */
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

export type Message =
  | (Envelope & {
      readonly kind: 'text'
      readonly body: string
      /** For whom it was, where that agent has ended before it read it. */
      readonly to?: string
    })
  | (Envelope & {
      readonly kind: 'result'
      readonly task: string
      readonly attempt: number
      readonly end: End
    })

/** A message in the hands of one reader: gone once acknowledged, delivered again otherwise. */
export interface Lease {
  readonly message: Message
  readonly reader: string
  /** The how-manieth delivery this is. */
  readonly delivery: number
}

export interface LeaseQuery {
  /** Names of senders; all where absent. */
  readonly from?: readonly string[] | undefined
  /** The newest first. */
  readonly lifo?: boolean | undefined
  readonly max?: number | undefined
}

/** One message of anybody, or one of each of these. */
export interface TakeQuery {
  readonly from?: readonly string[] | undefined
  /** The newest first. */
  readonly lifo?: boolean | undefined
  /** Takes what is there, also where somebody may still answer. */
  readonly isLast?: boolean | undefined
}

/** A message as `/inbox` shows it. */
export interface InboxLine {
  readonly id: string
  readonly from: string
  /** For whom it was, where that agent has ended before it read it. */
  readonly to?: string
  readonly kind: Message['kind']
  readonly ageMs: number
  /** Whether a reader has it in hand. */
  readonly isLeased: boolean
  /** Who that is. */
  readonly reader?: string
}

export type SenderStatus = 'received' | 'running' | 'idle' | 'dead'

/** Whether waiting in `/receive` can end. */
export interface ReceiveStatus {
  readonly senders: readonly { readonly name: string; readonly status: SenderStatus }[]
  /** No message is there or under way, and nobody who was asked about could send one. */
  readonly nothingToWaitFor: boolean
  /** Another reader has a message of theirs in hand: where he dies, it is there again without a word. */
  readonly isHeld: boolean
  /** The names of agents that wait for each other, this one among them. */
  readonly deadlock: readonly string[] | null
}

/** The same, and what was handed over at that moment. */
export interface Taken extends ReceiveStatus {
  readonly leases: readonly Lease[]
}

/** Whether all that is waited for is there, or will never be. */
export function isOver({ from }: TakeQuery, { senders }: ReceiveStatus): boolean {
  return from === undefined || senders.every(({ status }) => status !== 'running')
}
