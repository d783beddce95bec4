import type { Tokens } from '../../engine.ts'
import type { SeenFile } from '../tools/seen.ts'

/** Data such as a signature that a provider wants back unchanged with a part of an answer. */
export type Meta = Readonly<Record<string, Readonly<Record<string, Json>>>>

export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

export type Part = TextPart | CallPart

interface TextPart {
  readonly type: 'text' | 'thinking'
  readonly text: string
  readonly meta?: Meta
}

export interface CallPart {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  readonly input: Json
  readonly meta?: Meta
}

/** A tool as it is sent to the model; fixed for a conversation. */
interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** The part of a conversation that never changes, because caches and signed thoughts depend on it. */
export interface Head {
  readonly id: string
  readonly model: string
  readonly system: string
  readonly tools: readonly ToolDescription[]
  /** A fingerprint of everything that must be equal to continue a conversation. */
  readonly print: string
}

/** A line of a stored conversation. */
export type Entry =
  | ({ readonly type: 'begin'; readonly version: 1 } & Head)
  | { readonly type: 'user'; readonly text: string }
  | AnswerEntry
  | ResultEntry
  /** All usage up to here was reported. `isLimited`: the process stopped because of a rate limit. */
  | { readonly type: 'end'; readonly isLimited?: true }

/** `isMade`: synthesised for files that were read in advance, not an answer of the model. */
export interface AnswerEntry {
  readonly type: 'assistant'
  readonly parts: readonly Part[]
  readonly isMade?: true
  readonly tokens?: Tokens
  readonly costUsd?: number
  /** Why it ended. */
  readonly finish?: string
}

export interface ResultEntry {
  readonly type: 'result'
  readonly id: string
  readonly name: string
  readonly text: string
  readonly isError?: true
  readonly diff?: string
  /** The state of a file that the conversation has seen with it. */
  readonly seen?: SeenFile
}

export type Message = Exclude<Entry, { type: 'begin' | 'end' }>

export function callsOf({ parts }: AnswerEntry): CallPart[] {
  return parts.filter((part) => part.type === 'call')
}

/** Whether an answer was cut off at the output limit, in the middle of its text. */
export function isCut({ parts, finish }: Pick<AnswerEntry, 'parts' | 'finish'>): boolean {
  return finish === 'length' && !parts.some(({ type }) => type === 'call')
}

/** Whether it is a real answer of the model, not one synthesised for files. */
export function isOwnAnswer(message: Entry): message is AnswerEntry {
  return message.type === 'assistant' && message.isMade !== true
}
