import { stepsOf, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import { engineOf } from '../../engines/registry.ts'
import type { Outcome } from '../../records/events/schema.ts'
import type { RunState } from '../../records/events/state.ts'
import { Patience, type Pause } from './patience.ts'

/** After the reset of a limit, agents start this far apart. */
const APART_MS = 3000

/** Longer than any jitter: a later reset is that of another limit. */
const SAME_MS = 2 * 60_000

interface SharedPause {
  until: number
  readonly error: string
  /** How many agents wait for it. */
  waiting: number
}

/** Usage limits that one agent has hit, and that apply to all agents of its kind. */
export class SharedLimits {
  readonly #pauses = new Map<string, SharedPause>()

  /** Includes the limits that an earlier process was waiting for. */
  constructor({ root }: Plan, { steps }: RunState) {
    for (const step of stepsOf(root)) {
      for (const { number, isAgain, reason, lastOutcome } of steps) {
        if (number !== step.number || !isAgain || reason !== undefined) continue
        const next = lastOutcome && new Patience(step.policy).after(lastOutcome)
        // A wait that would have been too long ended its step; a user who resumes it wants another try.
        if (next !== undefined && !('reason' in next)) this.note(step, lastOutcome)
      }
    }
  }

  /** Keeps other agents of its kind from starting until the limit is reset, even if this one does not wait. */
  note(step: StepNode, outcome: Outcome | undefined): void {
    if (outcome?.kind !== 'rate_limited' || outcome.resetsAt === undefined) return
    const kind = limitKind(step)
    const { error, resetsAt } = outcome
    if (this.#current(kind) === undefined)
      this.#pauses.set(kind, { until: resetsAt * 1000, error, waiting: 0 })
  }

  /** Merges one agent's pause into that of its kind, and returns it with the agent's own start time. */
  join(step: StepNode, pause: Pause): Pause {
    if (pause.why !== 'quota') return pause
    const kind = limitKind(step)
    const known = this.#current(kind)
    if (known === undefined) {
      this.#pauses.set(kind, { until: pause.until, error: pause.error, waiting: 1 })
      return pause
    }
    // Times for the same limit differ slightly, because of jitter.
    if (known.waiting === 0 || pause.until > known.until + SAME_MS) known.until = pause.until
    known.waiting += 1
    return { ...pause, until: known.until + (known.waiting - 1) * APART_MS }
  }

  /** The known limit that an agent would hit if it started now. */
  limitOf(step: StepNode): { readonly error: string; readonly resetsAt: number } | undefined {
    const known = this.#current(limitKind(step))
    return known && { error: known.error, resetsAt: Math.ceil(known.until / 1000) }
  }

  /** Call when the user has ended the wait. */
  clear(step: StepNode): void {
    this.#pauses.delete(limitKind(step))
  }

  #current(kind: string): SharedPause | undefined {
    const known = this.#pauses.get(kind)
    return known !== undefined && known.until > Date.now() ? known : undefined
  }
}

/** Agents share a limit if they use the same program with the same settings. */
export function limitKind({ agent, policy }: StepNode): string {
  return `${engineOf(agent).limitScope(agent)} ${JSON.stringify(policy.env)}`
}
