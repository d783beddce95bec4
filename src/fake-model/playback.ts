import type { Ask } from './ask.ts'
import { explainMiss } from './explain.ts'
import type { Mark } from './mark.ts'
import type { Turn } from './script-schema.ts'
import type { Conversation, Script, TurnList } from './script.ts'

export type Cue =
  | {
      readonly kind: 'turn'
      readonly turn: Turn
      readonly place: string
      readonly mark: Mark
    }
  | {
      readonly kind: 'none'
      readonly why: string
      /** What was asked, and what would match. */
      readonly hint?: string
    }

/** A script while it is played: which turn answers which request. */
export class Playback {
  readonly #script: Script
  readonly #parts: readonly Part[]

  constructor(script: Script) {
    this.#script = script
    this.#parts = script.map((conversation, index) => new Part(conversation, index))
  }

  /** Goes to where an earlier playback of the script has ended. */
  restore(marks: readonly Mark[]): void {
    for (const [index, part] of this.#parts.entries())
      part.restore(marks.filter(({ conversation }) => conversation === index))
  }

  next(ask: Ask): Cue {
    const part = this.#parts.find(({ conversation }) => isMeant(conversation, ask))
    if (part !== undefined) return part.next(ask)
    const why = 'no conversation of the script matches it'
    return { kind: 'none', why, hint: explainMiss(ask, this.#script) }
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
  readonly #index: number
  /** Lists of sessions that were cut off: they begin again. */
  #cutOff: TurnList[] = []
  readonly #sessions = new Map<string, Position>()
  readonly #places = new Set<string>()
  #opened = 0

  constructor(conversation: Conversation, index: number) {
    this.conversation = conversation
    this.#index = index
  }

  restore(marks: readonly Mark[]): void {
    const { lists, bySession } = this.conversation
    const latest = new Map<TurnList, number>()
    const isCutOff = (list: TurnList) => (latest.get(list) ?? Infinity) < list.turns.length
    for (const { list: number, turn, session } of marks) {
      const list = lists[number]
      // The script may have been changed since.
      if (list === undefined || turn >= list.turns.length) continue
      if (!latest.has(list) || (turn === 0 && !isCutOff(list))) this.#opened += 1
      latest.set(list, turn + 1)
      this.#sessions.set(bySession ? session : '', { list, used: turn + 1 })
      this.#places.add(placeOf(list, turn))
    }
    if (bySession) this.#cutOff = [...latest.keys()].filter(isCutOff)
  }

  next({ session }: Ask): Cue {
    const { bySession } = this.conversation
    const key = bySession ? session : ''
    const current = this.#sessions.get(key)
    const isOver = current !== undefined && current.used === current.list.turns.length
    if (isOver && bySession) return usedUp(current.list.place, current.used, 'turn')
    const position = current === undefined || isOver ? this.#open(key) : current
    return position === undefined ? this.#usedUp() : this.#take(position, key)
  }

  #open(key: string): Position | undefined {
    const { lists, repeat } = this.conversation
    const again = this.#cutOff.shift()
    const list = again ?? lists[repeat ? this.#opened % lists.length : this.#opened]
    if (list === undefined) return undefined
    if (again === undefined) this.#opened += 1
    const position = { list, used: 0 }
    this.#sessions.set(key, position)
    return position
  }

  #take(position: Position, session: string): Cue {
    const { list, used } = position
    // Whoever goes on with a session is not cut off.
    this.#cutOff = this.#cutOff.filter((each) => used === 0 || each !== list)
    position.used += 1
    const place = placeOf(list, used)
    this.#places.add(place)
    const number = this.conversation.lists.indexOf(list)
    const mark = { conversation: this.#index, list: number, turn: used, session }
    return { kind: 'turn', turn: list.turns[used]!, place, mark }
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
