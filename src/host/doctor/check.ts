import type { Facts } from '../../chain/plan/facts.ts'

/** The result of one check. */
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

/** The machine as the checks may see it. */
export interface Place {
  readonly cwd: string
  /** As agents get it. */
  readonly env: Readonly<Record<string, string>>
  readonly facts: Facts
  /** Whether something here is called through `claude`. */
  readonly needsClaude: boolean
}
