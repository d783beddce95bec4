import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { Head, Message, Meta, Part, ResultEntry } from '../conversation/entry.ts'

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ToolPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]

/** Up to here a provider may keep what it has read; others do not know it. */
const CACHED: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** A conversation in the words of the library. Only marks for caches move, never what was said. */
export function toPrompt({ system }: Head, messages: readonly Message[]): LanguageModelV4Prompt {
  const said = messages.reduce<LanguageModelV4Message[]>(append, [])
  // Where the last request ended: its cache is looked for a few parts back only, and a turn may have many.
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

/** Answers of tools that follow each other are one turn. */
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

/** Models say nothing at times, and providers do not take it back. */
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
  // Some providers refuse a text without a character.
  const value = text === '' ? '(nothing)' : text
  return { type: 'tool-result', toolCallId: id, toolName: name, output: { type, value } }
}

function optionsOf(meta: Meta | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return meta === undefined ? {} : { providerOptions: meta }
}
