import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { Head, Message, Meta, Part, ResultEntry } from '../conversation/entry.ts'

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ToolPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]

/** Marks the end of a cacheable prefix; other providers ignore it. */
const CACHED: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** A conversation in the format of the library. Earlier messages never change; only cache marks move. */
export function toPrompt({ system }: Head, messages: readonly Message[]): LanguageModelV4Prompt {
  const said = messages.reduce<LanguageModelV4Message[]>(append, [])
  // Also mark the end of the last request: caches are searched only a few parts back.
  const before = said.findLastIndex(({ role }) => role === 'assistant') - 1
  const isMarked = (index: number) => index === before || index === said.length - 1
  return [
    { role: 'system', content: system, providerOptions: CACHED },
    ...said.map((message, index) =>
      isMarked(index) ? { ...message, providerOptions: CACHED } : message,
    ),
  ]
}

export function toTools({ tools }: Head): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, inputSchema }, index) => ({
    type: 'function',
    name,
    description,
    inputSchema,
    ...(index === tools.length - 1 ? { providerOptions: CACHED } : {}),
  }))
}

/** Consecutive tool results are one message. */
function append(said: LanguageModelV4Message[], message: Message): LanguageModelV4Message[] {
  switch (message.type) {
    case 'user':
      said.push({ role: 'user', content: [{ type: 'text', text: message.text }] })
      return said
    case 'assistant': {
      const parts = message.parts.filter(isSaid)
      if (parts.length > 0) said.push({ role: 'assistant', content: parts.map(toPart) })
      return said
    }
    case 'result': {
      const last = said.at(-1)
      const part = toResult(message)
      if (last?.role === 'tool') last.content.push(part)
      else said.push({ role: 'tool', content: [part] })
      return said
    }
  }
}

/** Models sometimes send blank texts, which providers refuse as input. */
function isSaid(part: Part): boolean {
  return part.type !== 'text' || part.text.trim() !== ''
}

function toPart(part: Part): AssistantPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...optionsOf(part.meta) }
    case 'thinking':
      return { type: 'reasoning', text: part.text, ...optionsOf(part.meta) }
    case 'call': {
      const { id: toolCallId, name: toolName, input, meta } = part
      return { type: 'tool-call', toolCallId, toolName, input, ...optionsOf(meta) }
    }
  }
}

function toResult({ id, name, text, isError }: ResultEntry): ToolPart {
  const type = isError === true ? 'error-text' : 'text'
  // Some providers refuse an empty text.
  const value = text === '' ? '(nothing)' : text
  return { type: 'tool-result', toolCallId: id, toolName: name, output: { type, value } }
}

function optionsOf(meta: Meta | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return meta === undefined ? {} : { providerOptions: meta }
}
