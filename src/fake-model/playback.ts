import * as z from 'zod/mini'
import { tryOr } from '../base/errors.ts'
import { parseJson } from '../base/json.ts'
import { oneLine, shorten } from '../base/shorten.ts'
import type { ModelRequest } from './model-request.ts'
import type { ScriptedTurn } from './script-schema.ts'
import type { ScriptedConversation, Script, TurnList } from './script.ts'

const wholeNumber = z.int().check(z.minimum(0))

const answeredTurnSchema = z.object({
  conversation: wholeNumber,
  list: wholeNumber,
  turn: wholeNumber,
  session: z.string(),
})

/** A turn that was sent completely: its position in the script, and the session that got it. */
export type AnsweredTurn = z.infer<typeof answeredTurnSchema>

/** Undefined if the line is incomplete or invalid. */
export function parseAnsweredTurn(line: string): AnsweredTurn | undefined {
  return tryOr(undefined, () => answeredTurnSchema.safeParse(parseJson(line)).data)
}

export type Match =
  | {
      readonly kind: 'turn'
      readonly turn: ScriptedTurn
      readonly place: string
      readonly answered: AnsweredTurn
    }
  | {
      readonly kind: 'none'
      readonly why: string
      /** The request in short, and a pattern that would match it. */
      readonly hint?: string
    }

/** Decides which turn of a script answers which request. */
export class Playback {
  readonly #script: Script
  readonly #parts: readonly ConversationPlayback[]

  /** Continues after the turns that an earlier playback of the script has answered. */
  constructor(script: Script, answered: readonly AnsweredTurn[] = []) {
    this.#script = script
    this.#parts = script.map((conversation, index) => {
      const own = answered.filter((turn) => turn.conversation === index)
      return new ConversationPlayback(conversation, index, own)
    })
  }

  next(request: ModelRequest): Match {
    const part = this.#parts.find(({ conversation }) => matches(conversation, request))
    if (part !== undefined) return part.next(request)
    const why = 'no conversation in the script matches'
    return { kind: 'none', why, hint: explainMiss(request, this.#script) }
  }

  /** The places of all turns that answered nothing. */
  get unused(): readonly string[] {
    return this.#parts.flatMap((part) => part.unused)
  }
}

function matches({ system, prompt }: ScriptedConversation, request: ModelRequest): boolean {
  return (
    (system?.test(request.system) ?? true) &&
    (prompt === undefined || request.prompts.some((text) => prompt.test(text)))
  )
}

/** How many turns of its list a session has used. */
interface Position {
  readonly list: TurnList
  used: number
}

class ConversationPlayback {
  readonly conversation: ScriptedConversation
  readonly #index: number
  /** Lists of interrupted sessions: the next new sessions get them, from the start. */
  #cutOff: TurnList[] = []
  readonly #sessions = new Map<string, Position>()
  readonly #places = new Set<string>()
  #opened = 0

  constructor(
    conversation: ScriptedConversation,
    index: number,
    answered: readonly AnsweredTurn[],
  ) {
    this.conversation = conversation
    this.#index = index
    const { lists, bySession } = conversation
    const latest = new Map<TurnList, number>()
    const isCutOff = (list: TurnList) => (latest.get(list) ?? Infinity) < list.turns.length
    for (const { list: number, turn, session } of answered) {
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

  next({ session }: ModelRequest): Match {
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

  #take(position: Position, session: string): Match {
    const { list, used } = position
    // A session that continues was not interrupted.
    this.#cutOff = this.#cutOff.filter((each) => used === 0 || each !== list)
    position.used += 1
    const place = placeOf(list, used)
    this.#places.add(place)
    const number = this.conversation.lists.indexOf(list)
    const answered = { conversation: this.#index, list: number, turn: used, session }
    return { kind: 'turn', turn: list.turns[used]!, place, answered }
  }

  #usedUp(): Match {
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

function usedUp(where: string, count: number, what: string): Match {
  return { kind: 'none', why: `${where} has only ${count} ${what}${count === 1 ? '' : 's'}` }
}

const LONGEST = 80
const MOST_HEADINGS = 4

/** The first line of the agent's own system prompt, after what forkhestra puts before it. */
const OWN_PROMPT = /^# How you are run$.*?^---\s+(?!# Where you are$)(\S.*?)$/ms

/** The request, what the script expects, and a pattern that would match. */
function explainMiss(request: ModelRequest, script: Script): string {
  const headings = Array.from(request.system.matchAll(/^# .+$/gm), ([line]) => line)
  const prompt = request.prompts.findLast((text) => text.trim() !== '') ?? ''
  const system = headings.slice(-MOST_HEADINGS).join(', ') || brief(request.system)
  const line = OWN_PROMPT.exec(request.system)?.[1]?.slice(0, LONGEST) ?? headings.at(-1)
  const pattern =
    line === undefined ? { prompt: `^${escape(brief(prompt))}` } : { system: escape(line) }
  return [
    `The request has the system prompt (${system || 'none'}) and the prompt "${brief(prompt)}".`,
    `The script expects ${script.map(describe).join('; ')}.`,
    `This would match: "when": ${JSON.stringify(pattern)}`,
  ].join('\n')
}

function describe({ place, system, prompt }: Script[number]): string {
  const wanted = [
    ...(system === undefined ? [] : [`system /${system.source}/`]),
    ...(prompt === undefined ? [] : [`prompt /${prompt.source}/`]),
  ]
  return `${place}: ${wanted.join(' and ') || 'any request'}`
}

function brief(text: string): string {
  return shorten(oneLine(text), LONGEST)
}

/** Escapes no more than needed, so that the pattern stays readable. */
function escape(text: string): string {
  return text.replace(/…$/, '').replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}
