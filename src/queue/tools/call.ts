import type { Message } from '../message.ts'
import type { QueueProvider } from './provider.ts'
import type { Call, QueueTool } from './tool.ts'

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
  call: Call,
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

function describeLost(lost: readonly Message[]): string {
  const names = lost.map(({ from, id }) => `${from} (${id})`).join(', ')
  return `the lease of these messages had expired when they were read, so another reader may get them too: ${names}`
}
