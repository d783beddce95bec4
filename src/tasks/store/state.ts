import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Places } from './places.ts'

/** Who holds a task: an iteration of a run, or a name with a time to live. */
export interface Claim {
  readonly owner: string
  /** Absent for a person or an agent outside of a run. */
  readonly run?: {
    readonly id: string
    readonly step: string
    readonly iteration: string
    readonly process?: string
  }
  readonly at: string
  /** Until when a claim outside of a run holds, if its owner is not heard of. */
  readonly until?: string
  /** By how long each command of its owner puts that off. */
  readonly leaseMs?: number
  /** The checkout in which it was made. */
  readonly root: string
  /** How the work ended there; other checkouts have to wait for the merge. */
  readonly settled?: 'done' | 'blocked'
}

/** One claim that is over. */
export interface Attempt {
  readonly owner: string
  readonly at: string
  readonly ended: string
  readonly outcome: 'done' | 'blocked' | 'released' | 'failed'
  readonly why?: string
}

/** A file that takes the place of another, or leaves its own. */
export interface Move {
  readonly from: string
  readonly to: string
}

/** What is local to a clone: never committed, shared by its worktrees. */
export interface State {
  readonly version: 1
  /** The highest number that was given by prefix: an id is never given twice. */
  readonly numbers: Readonly<Record<string, number>>
  readonly claims: Readonly<Record<string, Claim>>
  readonly attempts: Readonly<Record<string, readonly Attempt[]>>
  /** What the last change moves: all of it was done, unless its writer was killed. */
  readonly moves?: readonly Move[]
}

/** A state that cannot be read counts as empty: the files are the truth. */
export function readState(places: Places): State {
  const fields = readObject(places)
  const read = (key: string): object => {
    const value = fields[key]
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  }
  return {
    version: 1,
    numbers: read('numbers') as State['numbers'],
    claims: read('claims') as State['claims'],
    attempts: read('attempts') as State['attempts'],
    moves: Array.isArray(fields['moves']) ? (fields['moves'] as Move[]) : [],
  }
}

function readObject(places: Places): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(statePath(places), 'utf8'))
    const isOurs = typeof value === 'object' && value !== null && 'version' in value
    return isOurs && value.version === 1 ? value : {}
  } catch {
    return {}
  }
}

export function statePath(places: Places): string {
  return join(places.shared, 'state.json')
}
