import type { RunState } from './state.ts'

type Kind = 'string' | 'number' | 'boolean'

const RUN: Readonly<Record<string, Kind>> = {
  startedAt: 'string',
  cwd: 'string',
  chain: 'string',
  record: 'string',
  clock: 'number',
  skippedMs: 'number',
}

const STEP: Readonly<Record<string, Kind>> = {
  name: 'string',
  maxIterations: 'number',
  reason: 'string',
  detail: 'string',
  feedback: 'string',
  fingerprint: 'string',
}

const STEP_REQUIRED: Readonly<Record<string, Kind>> = {
  number: 'number',
  agent: 'string',
  rounds: 'number',
  isOpen: 'boolean',
  iterations: 'number',
  attempt: 'number',
  failures: 'number',
  idle: 'number',
  jumps: 'number',
  closings: 'number',
}

/** Checks a state from disk, because other programs may have written to the record. */
export function isValidState(state: unknown): state is RunState {
  if (!isRecord(state) || !has(state, RUN) || !isCount(state['at'])) return false
  const { steps, spent, changedFiles = [] } = state
  return (
    Array.isArray(changedFiles) && isSpent(spent) && Array.isArray(steps) && steps.every(isStep)
  )
}

function isStep(step: unknown): boolean {
  return (
    isRecord(step) && has(step, STEP) && has(step, STEP_REQUIRED, true) && isSpent(step['spent'])
  )
}

function isSpent(spent: unknown): boolean {
  if (!isRecord(spent) || !isRecord(spent['tokens'])) return false
  const { ms, costUsd, iterations, tokens } = spent
  return [ms, costUsd, iterations, ...Object.values(tokens)].every(isCount)
}

function has(
  value: Readonly<Record<string, unknown>>,
  kinds: Readonly<Record<string, Kind>>,
  isRequired = false,
): boolean {
  return Object.entries(kinds).every(([key, kind]) => {
    const each = value[key]
    return each === undefined ? !isRequired : typeof each === kind
  })
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
