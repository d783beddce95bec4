import {
  CLIENT_INFO_META_KEY,
  McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { printable } from '../base/printable.ts'
import type { Call, ServedTool } from './served-tool.ts'
import type { Input } from './tool.ts'
import { Wire } from './wire.ts'

export interface ServeOptions {
  readonly name: string
  readonly version: string
  readonly instructions: string
  readonly tools: readonly ServedTool[]
  /** Ends it, as the end of stdin does. */
  readonly stop?: AbortSignal
  /** Called with what is our own fault; the agent only gets its message. */
  readonly onBug: (error: unknown) => void
}

/** Serves tools on stdin and stdout, until stdin ends. */
export async function serve(options: ServeOptions): Promise<void> {
  const wire = new Wire()
  const { stop } = options
  stop?.addEventListener('abort', () => void wire.close())
  serveStdio(() => makeServer(options, wire), { transport: wire })
  await wire.closed
  await wire.flush()
}

function makeServer({ name, version, instructions, tools, onBug }: ServeOptions, wire: Wire) {
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
        return await tool.call(given, makeCall(server, context, wire))
      } catch (error) {
        onBug(error)
        throw error
      }
    })
  }
  return server
}

/** The dialect is the one that the protocol assumes; naming it for each tool costs tokens. */
function withoutDialect(schema: z.ZodObject): StandardSchemaWithJSON<unknown, Input> {
  const { validate, vendor, version, jsonSchema } = schema['~standard']
  const input: typeof jsonSchema.input = (options) => {
    const { $schema: _, ...rest } = jsonSchema.input(options)
    return rest
  }
  return { '~standard': { validate, vendor, version, jsonSchema: { ...jsonSchema, input } } }
}

function makeCall(server: McpServer, context: ServerContext, wire: Wire): Call {
  const { id, signal, notify, _meta: meta } = context.mcpReq
  const waiting = AbortSignal.any([signal, wire.ending])
  const progressToken = meta?.progressToken
  let progress = 0
  return {
    signal: waiting,
    clientName: () => clientName(server, context),
    isTaken: () => wire.isTaken(id, signal),
    progress() {
      if (progressToken === undefined) return
      progress += 1
      // A client that is gone is noticed by the wire.
      notify({ method: 'notifications/progress', params: { progressToken, progress } }).catch(
        () => undefined,
      )
    },
  }
}

const envelopeSchema = z.object({ [CLIENT_INFO_META_KEY]: z.object({ name: z.string() }) })

/** Newer clients say who they are in every request, older ones once, at the beginning. */
function clientName({ server }: McpServer, { mcpReq }: ServerContext): string | undefined {
  const { data } = envelopeSchema.safeParse(mcpReq.envelope)
  const name = data?.[CLIENT_INFO_META_KEY].name ?? server.getClientVersion()?.name ?? ''
  return printable(name).trim() || undefined
}
