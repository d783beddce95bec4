import { parseJsonc } from '../base/jsonc.ts'
import { listSchema, scriptSchema, type ScriptSource, type ScriptedTurn } from './script-schema.ts'

/** One list of turns, and its place in the script's file. */
export interface TurnList {
  readonly place: string
  readonly turns: readonly ScriptedTurn[]
}

export interface ScriptedConversation {
  readonly place: string
  readonly system: RegExp | undefined
  readonly prompt: RegExp | undefined
  /** Whether each session gets its own list; otherwise all requests share one. */
  readonly bySession: boolean
  readonly lists: readonly TurnList[]
  /** Whether the first list follows the last. */
  readonly repeat: boolean
}

export type Script = readonly ScriptedConversation[]

/** Reads a script file. `file` is its name in messages. */
export function parseScript(content: string, file: string): ScriptSource {
  return parseJsonc<typeof listSchema | typeof scriptSchema>(content, file, {
    schemaOf: (value) =>
      Array.isArray(value) || typeof value !== 'object' || value === null
        ? listSchema
        : scriptSchema,
    emptyHint: 'Put a list of turns in it, for example [{ "text": "Done." }]',
  })
}

export function turnsOf(source: ScriptSource): readonly ScriptedTurn[] {
  return makeScript(source).flatMap(({ lists }) => lists.flatMap(({ turns }) => turns))
}

/** Whether the script has a usage limit: `claude` then needs a (fake) subscription. */
export function hasLimit(source: ScriptSource): boolean {
  return turnsOf(source).some(({ limit }) => limit !== undefined)
}

export function makeScript(source: ScriptSource): Script {
  if (Array.isArray(source)) return [makeConversation({ turns: source }, '')]
  return source.conversations.map((part, index) =>
    makeConversation(part, `conversations[${index}]`),
  )
}

type ConversationSource = Exclude<ScriptSource, readonly unknown[]>['conversations'][number]

function makeConversation(source: ConversationSource, place: string): ScriptedConversation {
  const { when = {}, turns, sessions, repeat = false } = source
  const flat = { place: place === '' ? '' : `${place}.turns`, turns: turns ?? [] }
  return {
    place: place === '' ? 'the script' : place,
    system: makePattern(when.system),
    prompt: makePattern(when.prompt),
    bySession: sessions !== undefined,
    lists: sessions?.map((list, index) => ({
      place: `${place}.sessions[${index}]`,
      turns: list,
    })) ?? [flat],
    repeat,
  }
}

function makePattern(source: string | undefined): RegExp | undefined {
  return source === undefined ? undefined : new RegExp(source, 'u')
}
