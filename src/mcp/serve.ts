import {
  CLIENT_INFO_META_KEY,
  McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { printable } from '../base/terminal/printable.ts'
import type { Call, ServedTool } from './tool.ts'
import { Transport } from './transport.ts'

export interface ServeOptions {
  readonly name: string
  readonly version: string
  readonly instructions: string
  readonly tools: readonly ServedTool[]
  /** Ends the server, as the end of stdin does. */
  readonly stop?: AbortSignal
  /** Called with unexpected errors; the agent only gets the message. */
  readonly onBug: (error: unknown) => void
}

/** Serves tools on stdin and stdout until stdin ends. */
export async function serve(options: ServeOptions): Promise<void> {
  const transport = new Transport()
  const { stop } = options
  stop?.addEventListener('abort', () => void transport.close())
  serveStdio(() => makeServer(options, transport), { transport })
  await transport.closed
  await transport.flush()
}

function makeServer(
  { name, version, instructions, tools, onBug }: ServeOptions,
  transport: Transport,
) {
  const server = new McpServer(
    { name, version },
    { instructions, capabilities: { tools: { listChanged: false } } },
  )
  for (const tool of tools) {
    const inputSchema = withoutDialect(tool.input)
    const annotations = tool.isReading === true ? { annotations: { readOnlyHint: true } } : {}
    const about = { description: tool.description, inputSchema, ...annotations }
    server.registerTool(tool.name, about, async (given, context) => {
      try {
        return await transport.track(tool.call(given, makeCall(server, context, transport)))
      } catch (error) {
        onBug(error)
        throw error
      }
    })
  }
  return server
}

/** Omits `$schema`, which is the default of the protocol and costs tokens for each tool. */
function withoutDialect(
  schema: z.ZodObject,
): StandardSchemaWithJSON<unknown, z.output<z.ZodObject>> {
  const { validate, vendor, version, jsonSchema } = schema['~standard']
  const input: typeof jsonSchema.input = (options) => {
    const { $schema: _, ...rest } = jsonSchema.input(options)
    return rest
  }
  return { '~standard': { validate, vendor, version, jsonSchema: { ...jsonSchema, input } } }
}

function makeCall(server: McpServer, context: ServerContext, transport: Transport): Call {
  const { id, signal, notify, _meta: meta } = context.mcpReq
  const waiting = AbortSignal.any([signal, transport.ending])
  const progressToken = meta?.progressToken
  let progress = 0
  return {
    signal: waiting,
    clientName: () => clientName(server, context),
    isAnswerRead: () => transport.isAnswerRead(id, signal),
    progress() {
      if (progressToken === undefined) return
      progress += 1
      // The transport notices a client that is gone.
      notify({ method: 'notifications/progress', params: { progressToken, progress } }).catch(
        () => undefined,
      )
    },
  }
}

const envelopeSchema = z.object({ [CLIENT_INFO_META_KEY]: z.object({ name: z.string() }) })

/** Newer clients send their name with every request, older ones once at the start. */
function clientName({ server }: McpServer, { mcpReq }: ServerContext): string | undefined {
  const { data } = envelopeSchema.safeParse(mcpReq.envelope)
  const name = data?.[CLIENT_INFO_META_KEY].name ?? server.getClientVersion()?.name ?? ''
  return printable(name).trim() || undefined
}
