import type { Tokens } from '../../engines/engine.ts'
import type { SeenFile } from '../tools/seen.ts'

/** What a provider wants to get back unchanged with a part of an answer, such as a signature. */
export type Meta = Readonly<Record<string, Readonly<Record<string, Json>>>>

export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A part of what the model has said. */
export type Part = TextPart | ThinkingPart | CallPart

interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly meta?: Meta
}

interface ThinkingPart {
  readonly type: 'thinking'
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

/** What the model is told of a tool; it stays the same in a conversation. */
interface ToolWords {
  readonly name: string
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** What never changes in a conversation: caches, and signed thoughts, depend on it. */
export interface Head {
  readonly id: string
  readonly model: string
  readonly system: string
  readonly tools: readonly ToolWords[]
  /** By what a conversation is recognised as the one that is meant. */
  readonly print: string
}

/** A line of a conversation, in the order in which things happened. */
export type Entry =
  | ({ readonly type: 'begin'; readonly version: 1 } & Head)
  | { readonly type: 'user'; readonly text: string }
  | AnswerEntry
  | ResultEntry
  /** What was used up to here has been told. `isLimited`: it ended because a limit was met. */
  | { readonly type: 'end'; readonly isLimited?: true }

/** `isMade`: nobody was asked for it. */
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
  /** What the conversation knows of a file by it. */
  readonly seen?: SeenFile
}

export type Message = Exclude<Entry, { type: 'begin' | 'end' }>
