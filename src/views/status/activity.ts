import type { RunEvent } from '../../records/events/schema.ts'
import { keyOfScope } from '../../records/events/tree.ts'

/** What an agent or a command of a step does, and since when (in ms). */
export type Doing =
  | { readonly kind: 'tool'; readonly name: string; readonly brief: string; readonly since: number }
  | {
      readonly kind: 'command'
      readonly role: string
      readonly command: string
      readonly since: number
    }
  | { readonly kind: 'merge' | 'awaiting_task'; readonly since: number }
  | { readonly kind: 'thinking'; readonly since: number }
  | { readonly kind: 'silent'; readonly since: number }

/** What happens in one place of a run right now. */
interface Place {
  /** When its iteration began; absent between iterations. */
  began?: number | undefined
  tools: (Doing & { kind: 'tool' })[]
  command?: (Doing & { kind: 'command' }) | undefined
  merge?: Doing | undefined
  /** The last of its waits for a task that others hold. */
  wait?: Doing | undefined
  /** Whether the agent reports what it does. */
  isStructured: boolean
  /** The last sign of the agent. */
  last: number
  task?: ClaimedTask | undefined
  readonly subAgents: Set<string>
}

interface ClaimedTask {
  readonly id: string
  readonly title?: string | undefined
}

/** What the state of a run does not contain, because it is only of interest while it happens. */
export interface Activity extends Readonly<Pick<Place, 'began' | 'task'>> {
  readonly doing: Doing | undefined
  readonly subAgents: number
}

/** Follows the events of a run. */
export class Activities {
  readonly #places = new Map<string, Place>()

  take(event: RunEvent): void {
    const now = Date.parse(event.at)
    switch (event.type) {
      case 'iteration_started': {
        const place = this.#at(event.scope)
        Object.assign(place, { began: now, last: now, tools: [], task: undefined, wait: undefined })
        return
      }
      case 'awaiting_task':
        this.#at(event.scope).wait = { kind: 'awaiting_task', since: now }
        return
      case 'claimed':
        this.#at(event.scope).task = event
        return
      case 'message':
      case 'tool':
      case 'tool_ended':
        return this.#follow(event, now)
      case 'command_started': {
        const { role, command } = event
        this.#at(event.scope).command = { kind: 'command', role, command, since: now }
        return
      }
      case 'command':
        this.#at(event.scope).command = undefined
        return
      case 'merge_started':
        this.#at(event.scope).merge = { kind: 'merge', since: now }
        return
      case 'merge_ended':
        this.#at(event.scope).merge = undefined
        return
      case 'task_started':
        this.#at(event.scope).subAgents.add(event.task)
        return
      case 'task_ended':
        this.#at(event.scope).subAgents.delete(event.task)
        return
      case 'iteration_ended':
        Object.assign(this.#at(event.scope), { began: undefined, tools: [], task: undefined })
        return
      case 'step_ended':
        this.#places.delete(keyOfScope(event.scope))
    }
  }

  /** The agent has printed something. */
  output(scope: readonly string[], now: number): void {
    this.#at(scope).last = now
  }

  /** What happens in a step, or in the branch around it. */
  of(key: string): Activity {
    const place = this.#places.get(key)
    const around = [...this.#places].find(([other]) => key.startsWith(`${other}/`))?.[1]
    return {
      began: place?.began,
      task: place?.task,
      doing:
        place?.command ?? place?.merge ?? around?.merge ?? place?.wait ?? (place && agentOf(place)),
      subAgents: place?.subAgents.size ?? 0,
    }
  }

  #follow(event: RunEvent & { type: 'message' | 'tool' | 'tool_ended' }, now: number): void {
    if (event.task !== undefined) return
    const place = this.#at(event.scope)
    place.isStructured = true
    place.last = now
    if (event.type === 'tool')
      place.tools.push({ kind: 'tool', name: event.name, brief: event.brief, since: now })
    if (event.type !== 'tool_ended') return
    const at = place.tools.findIndex(({ name }) => name === event.name)
    if (at !== -1) place.tools.splice(at, 1)
  }

  #at(scope: readonly string[]): Place {
    const key = keyOfScope(scope)
    const known = this.#places.get(key)
    if (known !== undefined) return known
    const place = { tools: [], isStructured: false, last: 0, subAgents: new Set<string>() }
    this.#places.set(key, place)
    return place
  }
}

function agentOf({ began, tools, isStructured, last }: Place): Doing | undefined {
  if (began === undefined) return undefined
  return tools.at(-1) ?? { kind: isStructured ? 'thinking' : 'silent', since: last }
}
