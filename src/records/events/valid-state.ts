import type { RunState } from './state.ts'

/** The types that fields must have even in a damaged record; `?` if they may be missing. */
type Kinds = Readonly<Record<string, 'string' | 'number' | 'boolean' | 'string?' | 'number?'>>

const RUN: Kinds = {
  at: 'number',
  startedAt: 'string?',
  cwd: 'string?',
  chain: 'string?',
  record: 'string?',
  clock: 'number?',
  skippedMs: 'number?',
}

const STEP: Kinds = {
  number: 'number',
  agent: 'string',
  name: 'string?',
  maxIterations: 'number?',
  rounds: 'number',
  isOpen: 'boolean',
  iterations: 'number',
  attempt: 'number',
  reason: 'string?',
  detail: 'string?',
  failures: 'number',
  idle: 'number',
  fingerprint: 'string?',
  feedback: 'string?',
  jumps: 'number',
  closings: 'number',
}

const SPENT: Kinds = { ms: 'number', costUsd: 'number', iterations: 'number' }

const TOKENS: Kinds = {
  input: 'number',
  output: 'number',
  cacheRead: 'number',
  cacheWrite: 'number',
}

/** Checks a state from disk, because other programs may have written to the record. */
export function isValidState(state: unknown): state is RunState {
  if (!has(state, RUN) || !isSpent(state['spent'])) return false
  const { steps, changedFiles = [] } = state
  return Array.isArray(changedFiles) && Array.isArray(steps) && steps.every(isStep)
}

function isStep(step: unknown): boolean {
  return has(step, STEP) && isSpent(step['spent'])
}

function isSpent(spent: unknown): boolean {
  return has(spent, SPENT) && has(spent['tokens'], TOKENS)
}

function has(value: unknown, kinds: Kinds): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const fields: Readonly<Record<string, unknown>> = { ...value }
  return Object.entries(kinds).every(([key, kind]) => {
    const field = fields[key]
    if (field === undefined) return kind.endsWith('?')
    return kind.startsWith(typeof field) && (typeof field !== 'number' || Number.isFinite(field))
  })
}
