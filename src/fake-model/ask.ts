import * as z from 'zod/mini'

/** What a request says about itself, as far as a script is concerned. */
export interface Ask {
  readonly model: string
  readonly isStream: boolean
  readonly system: string
  /** All that the user has said: what stands before a prompt may have been read to the agent. */
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

// Where there is none, `claude` has the session in the user's id, and others have no sessions at all.
const SESSION_HEADERS = ['x-claude-code-session-id', 'x-forkhestra-conversation-id']
/** Only sub-agents have one; they share the session of their caller. */
const AGENT_HEADER = 'x-claude-code-agent-id'

/** Reads the body of a request; undefined where it is none of the Messages API. */
export function readAsk(body: unknown, headers: Readonly<Record<string, string>>): Ask | undefined {
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

/** The CLI adds reminders of its own to what the user said. */
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
