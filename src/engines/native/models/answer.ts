import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import { tryOr } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import { isAmount } from '../../../base/numbers.ts'
import type { Tokens } from '../../engine.ts'
import type { Json, Meta, Part } from '../conversation/entry.ts'

export interface Answer {
  readonly parts: readonly Part[]
  readonly tokens: Tokens
  /** Why it ended, in terms that all providers share. */
  readonly finish: string
  /** Ids of the calls whose input is not valid JSON. */
  readonly unreadable: ReadonlySet<string>
}

/** Finish reasons of answers that fail. */
export const BAD_ENDS: Readonly<Record<string, string>> = {
  'content-filter': "the provider's content filter stopped the answer",
  error: 'the provider ended the answer with an error',
}

type End = Pick<Answer, 'tokens' | 'finish'>

interface Growing {
  readonly type: 'text' | 'thinking'
  text: string
  meta?: Meta
}

/** Assembles an answer from the parts of a stream. */
export class AnswerBuilder {
  readonly #parts: (Growing | (Part & { type: 'call' }))[] = []
  readonly #open = new Map<string, Growing>()
  readonly #unreadable = new Set<string>()
  #end: End | undefined

  /** Returns the text of this piece. */
  take(piece: LanguageModelV4StreamPart): string {
    switch (piece.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#begin(piece.id, piece.type === 'text-start' ? 'text' : 'thinking')
        break
      case 'text-delta':
      case 'reasoning-delta': {
        const part = this.#open.get(piece.id) ?? this.#begin(piece.id, 'text')
        part.text += piece.delta
        break
      }
      case 'tool-call':
        this.#takeCall(piece)
        break
      case 'finish':
        this.#end = endOf(piece)
        break
      case 'error':
        throw piece.error
    }
    if ('providerMetadata' in piece && 'id' in piece) this.#note(piece.id, piece.providerMetadata)
    return piece.type === 'text-delta' ? piece.delta : ''
  }

  /** Undefined if the stream broke off, or announced something that is missing. */
  get answer(): Answer | undefined {
    if (this.#end === undefined) return undefined
    const { finish } = this.#end
    const said = this.#parts.filter((part) => part.type !== 'text' || part.text !== '')
    // The calls of an answer that fails are never made.
    const parts = BAD_ENDS[finish] === undefined ? said : said.filter(({ type }) => type !== 'call')
    if (!isComplete(finish, parts)) return undefined
    const last = parts.at(-1)
    // A call cut off before its first character has an empty input, which some tools accept.
    if (finish === 'length' && last?.type === 'call' && isEmpty(last.input))
      this.#unreadable.add(last.id)
    return { ...this.#end, parts, unreadable: this.#unreadable }
  }

  #begin(id: string, type: Growing['type']): Growing {
    const part: Growing = { type, text: '' }
    this.#parts.push(part)
    this.#open.set(id, part)
    return part
  }

  #note(id: string, meta: unknown): void {
    const part = this.#open.get(id)
    if (part === undefined || meta === undefined) return
    for (const [name, fields] of Object.entries(meta as Meta))
      part.meta = { ...part.meta, [name]: { ...part.meta?.[name], ...fields } }
  }

  #takeCall(call: LanguageModelV4StreamPart & { type: 'tool-call' }): void {
    const { toolCallId: id, toolName: name, input, providerMetadata } = call
    const value = parseInput(input)
    if (value === undefined) this.#unreadable.add(id)
    this.#parts.push({
      type: 'call',
      id,
      name,
      input: value ?? {},
      ...(providerMetadata === undefined ? {} : { meta: providerMetadata as Meta }),
    })
  }
}

/** Undefined if the library invented the end because the provider sent none. */
function endOf({ finishReason, usage }: LanguageModelV4StreamPart & { type: 'finish' }) {
  const { unified, raw } = finishReason
  const isMade = unified === 'interrupted' || (unified === 'other' && raw === undefined)
  return isMade ? undefined : { tokens: tokensOf(usage), finish: unified }
}

/** An unknown finish reason counts as an end only if the answer has text or calls. */
function isComplete(finish: string, parts: readonly Pick<Part, 'type'>[]): boolean {
  if (finish === 'tool-calls') return parts.some(({ type }) => type === 'call')
  return finish !== 'other' || parts.some(({ type }) => type !== 'thinking')
}

function isEmpty(input: Json): boolean {
  return typeof input === 'object' && input !== null && Object.keys(input).length === 0
}

function parseInput(text: string): Json | undefined {
  return tryOr(undefined, () => (text.trim() === '' ? {} : (parseJson(text) as Json)))
}

function tokensOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Tokens {
  const [cacheRead, cacheWrite] = [asCount(inputTokens.cacheRead), asCount(inputTokens.cacheWrite)]
  const rest = Math.max(0, asCount(inputTokens.total) - cacheRead - cacheWrite)
  const { noCache } = inputTokens
  return {
    input: noCache === undefined ? rest : asCount(noCache),
    output: asCount(outputTokens.total),
    cacheRead,
    cacheWrite,
  }
}

/** The libraries pass on what the service sent, even if it is not a valid count. */
function asCount(value: number | undefined): number {
  return isAmount(value) ? value : 0
}
