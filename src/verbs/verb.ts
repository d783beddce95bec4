import type { z } from 'zod'
import type { Delivery } from '../queue/desk.ts'
import type { Seat } from './door.ts'

/** What a verb answers; with messages that are gone from the inbox once whoever asked has the answer. */
interface Said {
  readonly json: object
  readonly delivery?: Delivery
}

/** A call, while it is answered. */
interface Call {
  /** Aborts when nobody wants the answer any more. */
  readonly signal: AbortSignal
  /** Says that it is still being worked at. */
  progress(): void
}

/** A verb as data. */
interface Definition<Schema extends z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly input: Schema
  readonly isReading?: boolean
  /** Whether there will be a queue if there was none. */
  readonly makes?: boolean
  /** The agent that a call names, which must exist before anything is queued. */
  agentOf?(input: z.output<Schema>): string | undefined
  /** What is answered where there is none; may throw. */
  nothing(): object
  run(input: z.output<Schema>, seat: Seat, call: Call): Promise<Said>
}

export type Verb = Definition<z.ZodObject>

/** Forgets the type of the input, which is checked against the schema before `run`. */
export function makeVerb<Schema extends z.ZodObject>(definition: Definition<Schema>): Verb {
  return definition
}
