import * as z from 'zod/mini'
import { CONVERSATION_HEADER } from '../base/scripted-model.ts'

/** The parts of a request that a script can match. */
export interface ModelRequest {
  readonly model: string
  readonly isStream: boolean
  readonly system: string
  /** All user messages: files that were read for the agent may come before its prompt. */
  readonly prompts: readonly string[]
  /** The same for all requests of one session. */
  readonly session: string
}

const blocksSchema = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.optional(z.string()) })),
])

type Blocks = z.infer<typeof blocksSchema>

const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.optional(z.boolean()),
  system: z.optional(blocksSchema),
  metadata: z.optional(z.looseObject({ user_id: z.optional(z.string()) })),
  messages: z.array(z.looseObject({ role: z.string(), content: blocksSchema })),
})

// Versions of `claude` without this header send the session in `metadata.user_id`.
const SESSION_HEADERS = ['x-claude-code-session-id', CONVERSATION_HEADER]
/** Sent by sub-agents only; they share the session of their caller. */
const AGENT_HEADER = 'x-claude-code-agent-id'

/** Undefined if the body is not a Messages API request. */
export function readModelRequest(
  body: unknown,
  headers: Readonly<Record<string, string>>,
): ModelRequest | undefined {
  const { data } = bodySchema.safeParse(body)
  if (data === undefined) return undefined
  const said = data.messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  const session =
    SESSION_HEADERS.map((name) => headers[name]).find(Boolean) ??
    data.metadata?.user_id ??
    textOf(said[0])
  return {
    model: data.model,
    isStream: data.stream === true,
    system: textOf(data.system),
    prompts: said.flatMap((content) => [textOf(content), ...textsOf(content)]),
    session: [session, headers[AGENT_HEADER]].join(' '),
  }
}

/** Added by `claude` to the user's messages. */
const REMINDER = '<system-reminder>'

function textOf(blocks: Blocks | undefined): string {
  return textsOf(blocks).join('\n')
}

function textsOf(blocks: Blocks = []): string[] {
  if (typeof blocks === 'string') return [blocks]
  return blocks.flatMap(({ text }) =>
    text === undefined || text.startsWith(REMINDER) ? [] : [text],
  )
}
