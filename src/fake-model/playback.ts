import type { Ask } from './ask.ts'
import type { Turn } from './script-schema.ts'
import type { Conversation, Script, TurnList } from './script.ts'

export type Cue =
  | { readonly kind: 'turn'; readonly turn: Turn; readonly place: string }
  | { readonly kind: 'none'; readonly why: string }

/** A script while it is played: which turn answers which request. */
export class Playback {
  readonly #parts: readonly Part[]

  constructor(script: Script) {
    this.#parts = script.map((conversation) => new Part(conversation))
  }

  next(ask: Ask): Cue {
    const part = this.#parts.find(({ conversation }) => isMeant(conversation, ask))
    if (part === undefined) return { kind: 'none', why: 'no conversation of the script matches it' }
    return part.next(ask)
  }

  /** The places of all turns that answered nothing. */
  get unused(): readonly string[] {
    return this.#parts.flatMap((part) => part.unused)
  }
}

function isMeant({ system, prompt }: Conversation, ask: Ask): boolean {
  return (
    (system?.test(ask.system) ?? true) &&
    (prompt === undefined || ask.prompts.some((words) => prompt.test(words)))
  )
}

/** Where in a list of turns a session is. */
interface Position {
  readonly list: TurnList
  used: number
}

class Part {
  readonly conversation: Conversation
  readonly #sessions = new Map<string, Position>()
  readonly #places = new Set<string>()
  #opened = 0

  constructor(conversation: Conversation) {
    this.conversation = conversation
  }

  next({ session }: Ask): Cue {
    const { bySession } = this.conversation
    const key = bySession ? session : ''
    const current = this.#sessions.get(key)
    const isOver = current !== undefined && current.used === current.list.turns.length
    if (isOver && bySession) return usedUp(current.list.place, current.used, 'turn')
    const position = current === undefined || isOver ? this.#open(key) : current
    return position === undefined ? this.#usedUp() : this.#take(position)
  }

  #open(key: string): Position | undefined {
    const { lists, repeat } = this.conversation
    const list = lists[repeat ? this.#opened % lists.length : this.#opened]
    if (list === undefined) return undefined
    this.#opened += 1
    const position = { list, used: 0 }
    this.#sessions.set(key, position)
    return position
  }

  #take(position: Position): Cue {
    const { list, used } = position
    position.used += 1
    const place = placeOf(list, used)
    this.#places.add(place)
    return { kind: 'turn', turn: list.turns[used]!, place }
  }

  #usedUp(): Cue {
    const { place, bySession, lists } = this.conversation
    if (bySession) return usedUp(place, lists.length, 'session')
    return usedUp(place, lists[0]!.turns.length, 'turn')
  }

  get unused(): readonly string[] {
    const places = this.conversation.lists.flatMap((list) =>
      list.turns.map((_, index) => placeOf(list, index)),
    )
    return places.filter((place) => !this.#places.has(place))
  }
}

function placeOf({ place }: TurnList, index: number): string {
  return `${place}[${index}]`
}

function usedUp(where: string, count: number, what: string): Cue {
  return { kind: 'none', why: `${where} has only ${count} ${what}${count === 1 ? '' : 's'}` }
}
