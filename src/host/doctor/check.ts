import type { Facts } from '../../chain/plan/facts.ts'

export interface Check {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'problem'
  readonly text: string
  /** What to type or edit. */
  readonly next?: string
}

export function ok(name: string, text: string): Check {
  return { name, state: 'ok', text }
}

export function warning(name: string, text: string, next: string): Check {
  return { name, state: 'warning', text, next }
}

export function problem(name: string, text: string, next: string): Check {
  return { name, state: 'problem', text, next }
}

/** A problem with something optional is only a warning. */
export function soften(check: Check, isNeeded: boolean): Check {
  return check.state === 'problem' && !isNeeded ? { ...check, state: 'warning' } : check
}

/** What the checks look at. */
export interface CheckContext {
  readonly cwd: string
  /** The environment of agents. */
  readonly env: Readonly<Record<string, string>>
  readonly facts: Facts
  /** Whether an agent of the project runs in `claude`. */
  readonly needsClaude: boolean
}
