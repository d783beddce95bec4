import type { RecordedRequest } from '../../../src/fake-model/server.ts'

interface Block {
  readonly type: string
  readonly text?: string
  readonly content?: string | readonly Block[]
}

interface Body {
  readonly model: string
  readonly system?: readonly Block[]
  readonly tools?: readonly { readonly name: string }[]
  readonly messages: readonly {
    readonly role: string
    readonly content: string | readonly Block[]
  }[]
}

/** A request of `claude`, as far as a test looks at it. */
export interface Ask {
  readonly model: string
  readonly system: string
  /** What the user said first. */
  readonly prompt: string
  readonly tools: readonly string[]
  /** What the tools that were called so far answered. */
  readonly results: readonly string[]
}

export function readAsk({ path, body }: RecordedRequest): Ask[] {
  if (!path.startsWith('/v1/messages')) return []
  const { model, system = [], tools = [], messages } = body as Body
  const blocks = messages.flatMap(({ role, content }) => (role === 'user' ? asBlocks(content) : []))
  return [
    {
      model,
      system: textOf(system),
      prompt: textOf(asBlocks(messages.find(({ role }) => role === 'user')?.content ?? [])),
      tools: tools.map(({ name }) => name),
      results: blocks
        .filter(({ type }) => type === 'tool_result')
        .map(({ content = '' }) => textOf(asBlocks(content))),
    },
  ]
}

function asBlocks(content: string | readonly Block[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Without the reminders that the CLI adds. */
function textOf(blocks: readonly Block[]): string {
  const texts = blocks.map(({ text = '' }) => text)
  return texts.filter((text) => !text.startsWith('<system-reminder>')).join('\n')
}
