import {
  CLIENT_INFO_META_KEY,
  McpServer,
  type CallToolResult,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { printable } from '../base/printable.ts'
import { findOwner, type Owner } from '../tasks/claims/owner.ts'
import { findPlaces } from '../tasks/store/places.ts'
import { callTool } from './call.ts'
import type { Input, Tool } from './tool.ts'
import { TOOLS } from './tools.ts'
import { Wire } from './wire.ts'

export interface ServeOptions {
  readonly cwd: string
  readonly version: string
  /** On whose behalf; else the iteration of the environment, else the client by its name. */
  readonly as: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Called with what is our own fault; the agent only gets its message. */
  onBug(error: unknown): void
}

const INSTRUCTIONS =
  'Tasks shared with other agents. Work: next with claim, do it, edit with checkAc and status done; ' +
  'if stuck, status blocked and appendNotes. Ids may be written 7 or TASK-007.'

/** Serves the tasks of a project on stdin and stdout, until stdin ends. */
export async function serveTasks(options: ServeOptions): Promise<void> {
  const wire = new Wire()
  serveStdio(() => makeServer(options), { transport: wire })
  await wire.closed
  await wire.flush()
}

function makeServer(options: ServeOptions): McpServer {
  const server = new McpServer(
    { name: 'forge-tasks', version: options.version },
    { instructions: INSTRUCTIONS, capabilities: { tools: { listChanged: false } } },
  )
  for (const tool of TOOLS) {
    const { name, description, input, isReading } = tool
    const inputSchema = withoutDialect(input)
    const annotations = isReading === true ? { annotations: { readOnlyHint: true } } : {}
    server.registerTool(name, { description, inputSchema, ...annotations }, (given, context) => {
      return call(tool, given, options, () => clientName(server, context))
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

function call(
  tool: Tool,
  input: Input,
  options: ServeOptions,
  findClient: () => string | undefined,
): CallToolResult {
  try {
    const owner = whoCalls(options, findClient)
    // Anew for each call: the folder may have become a repository in the meantime.
    return callTool(tool, input, { places: findPlaces(options.cwd), owner, now: new Date() })
  } catch (error) {
    options.onBug(error)
    throw error
  }
}

function whoCalls({ as, env }: ServeOptions, findClient: () => string | undefined): Owner {
  const isInRun = env['FORKHESTRA_RUN_ID'] !== undefined
  return findOwner(env, as ?? (isInRun ? undefined : findClient()))
}

const envelopeSchema = z.object({ [CLIENT_INFO_META_KEY]: z.object({ name: z.string() }) })

/** Newer clients say who they are in every request, older ones once, at the beginning. */
function clientName({ server }: McpServer, { mcpReq }: ServerContext): string | undefined {
  const { data } = envelopeSchema.safeParse(mcpReq.envelope)
  const name = data?.[CLIENT_INFO_META_KEY].name ?? server.getClientVersion()?.name ?? ''
  return printable(name).trim() || undefined
}
