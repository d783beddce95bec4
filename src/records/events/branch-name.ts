import { groupAt, type RunState } from './state.ts'
import { keyOfScope } from './tree.ts'
import type { StepState } from './step-state.ts'

/**
 * The display name of the branch that an event belongs to: `build#2` for the second copy of a step, `docs` for
 * a step in `lint & docs`. Undefined outside of branches.
 */
export function branchName(state: RunState, scope: readonly string[]): string | undefined {
  const places = placesOf(scope)
  const numbers = places.flatMap(({ copy }) => copy ?? [])
  const isBranch = numbers.length > 0 || places.some(({ list }) => isParallel(state, list))
  const last = places.at(-1)
  if (!isBranch || last === undefined) return undefined
  const suffix = numbers.length === 0 ? '' : `#${numbers.join('.')}`
  return `${nameOf(state, last.key)}${suffix}`
}

interface ScopePlace {
  /** Key of the group around it. */
  readonly list: string
  readonly key: string
  readonly copy: string | undefined
}

/** The groups of a scope, and its step. */
function placesOf(scope: readonly string[]): ScopePlace[] {
  const parts = keyOfScope(scope).split('/')
  const places: ScopePlace[] = []
  for (let at = 0; at < parts.length; at += 1) {
    if (/^c\d+$/.test(parts[at]!)) continue
    const copy = /^c(\d+)$/.exec(parts[at + 1] ?? '')?.[1]
    const list = parts.slice(0, at).join('/')
    const key = parts.slice(0, at + (copy === undefined ? 1 : 2)).join('/')
    places.push({ list, key, copy })
  }
  return places
}

function isParallel(state: RunState, list: string): boolean {
  return groupAt(state, list)?.kind === 'parallel'
}

function nameOf(state: RunState, key: string): string {
  const step = state.steps.find((each) => each.key === key)
  if (step === undefined) return groupAt(state, key)?.name ?? groupAt(state, key)?.id ?? key
  const name = shortName(step)
  const isTaken = state.steps.some(
    (other) => other.number !== step.number && shortName(other) === name,
  )
  return isTaken ? `${name}.${step.number}` : name
}

/** Without the folder of a program. */
function shortName({ name, agent }: StepState): string {
  return name ?? agent.slice(agent.lastIndexOf('/') + 1)
}
