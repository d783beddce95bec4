import type { z } from 'zod'
import type { Delivery } from '../client.ts'
import type { QueueSession } from './provider.ts'

/** The answer of a tool, with messages to acknowledge once the caller has it. */
interface ToolAnswer {
  readonly json: object
  readonly delivery?: Delivery
}

/** A call, while it is answered. */
export interface Call {
  /** Aborts when the call is cancelled. */
  readonly signal: AbortSignal
  /** Reports that the call is still running. */
  progress(): void
}

/** A tool as data. */
interface Definition<Schema extends z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly input: Schema
  readonly isReading?: boolean
  /** Whether a missing queue is created. */
  readonly createsQueue?: boolean
  /** The agent that a call names; it is checked before anything is queued. */
  agentOf?(input: z.output<Schema>): string | undefined
  /** The answer if there is no queue; may throw. */
  withoutQueue(): object
  run(input: z.output<Schema>, session: QueueSession, call: Call): Promise<ToolAnswer>
}

export type QueueTool = Definition<z.ZodObject>

/** Erases the input type; callers check the input against the schema before `run`. */
export function makeQueueTool<Schema extends z.ZodObject>(
  definition: Definition<Schema>,
): QueueTool {
  return definition
}
