import type { z } from 'zod'
import type { Delivery } from '../client.ts'
import type { QueueProvider, QueueSession } from './provider.ts'

/** The answer of a tool, with messages to acknowledge once the caller has it. */
interface ToolAnswer {
  readonly json: object
  readonly delivery?: Delivery
}

/** A call, while it is answered. */
export interface ToolCall {
  /** Aborts when the call is cancelled. */
  readonly signal: AbortSignal
  /** Reports that the call is still running. */
  progress(): void
}

/** Common to all tools of an agent: those for queues here, those for tasks in `mcp`. */
export interface Tool<Schema extends z.ZodObject = z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly input: Schema
  /** Read-only, so clients need not ask their user. */
  readonly isReading?: boolean
}

interface Definition<Schema extends z.ZodObject> extends Tool<Schema> {
  /** Whether a missing queue is created. */
  readonly createsQueue?: boolean
  /** The agent that a call names, checked before anything is queued. */
  agentOf?(input: z.output<Schema>): string | undefined
  /** The answer if there is no queue; may throw. */
  withoutQueue(): object
  run(input: z.output<Schema>, session: QueueSession, call: ToolCall): Promise<ToolAnswer>
}

export type QueueTool = Definition<z.ZodObject>

/** Erases the input type; callers check the input against the schema before `run`. */
export function makeQueueTool<Schema extends z.ZodObject>(
  definition: Definition<Schema>,
): QueueTool {
  return definition
}

export interface ToolResult {
  readonly json: object
  /** If present, must be called with whether the caller has received the messages in the answer. */
  readonly finish?: (isTaken: boolean) => Promise<void>
}

/** Calls a queue tool. Messages stay in the inbox, and the session open, until `finish` is called. */
export async function callTool(
  tool: QueueTool,
  input: Readonly<Record<string, unknown>>,
  provider: QueueProvider,
  call: ToolCall,
): Promise<ToolResult> {
  const agent = tool.agentOf?.(input)
  if (agent !== undefined) await provider.checkAgent(agent)
  const { promise: result, resolve, reject } = Promise.withResolvers<ToolResult>()
  const closed = provider.use(
    tool.createsQueue === true ? 'create-run' : 'existing',
    async (session) => {
      const { json, delivery } = await tool.run(input, session, call)
      if (delivery === undefined || delivery.messages.length === 0) return resolve({ json })
      const taken = Promise.withResolvers<boolean>()
      const finish = async (isTaken: boolean) => {
        taken.resolve(isTaken)
        await closed
      }
      resolve({ json, finish })
      if (!(await taken.promise)) return
      const lost = await delivery.acknowledge()
      if (lost.length > 0) provider.warn(describeLost(lost))
    },
    () => resolve({ json: tool.withoutQueue() }),
  )
  closed.catch(reject)
  return result
}

function describeLost(lost: Delivery['messages']): string {
  const names = lost.map(({ from, id }) => `${from} (${id})`).join(', ')
  return `the lease of these messages had expired when they were read, so another reader may get them too: ${names}`
}
