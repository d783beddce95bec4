import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { parseJson } from '../../base/json.ts'
import { isTracked } from '../../base/tracked.ts'
import { isOwnFolder, isRealFile } from './links.ts'
import { isOurMove } from './our-moves.ts'
import type { Places } from './places.ts'
import type { Seal } from './seal.ts'
import { shapeState } from './state-shape.ts'

/** A worktree of git by what a move of it does not change. */
export interface Worktree {
  /** Of its folder in `.git/worktrees`. */
  readonly name: string
  /** When that folder was made: the name may be given again. */
  readonly bornMs: number
  /** The way from its top to the project, where there is one. */
  readonly inside?: string
}

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
  /** Until when a claim holds if its owner is not heard of; in a run, if its process cannot be seen. */
  readonly until?: string
  /** By how long each command of its owner puts that off. */
  readonly leaseMs?: number
  /** The checkout in which it was made, by the place where it was then. */
  readonly root: string
  readonly worktree?: Worktree
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
  /** It was one too many: the task became Blocked. */
  readonly isLast?: true
  /** The iteration that had it, where it was one. */
  readonly run?: Claim['run']
}

/** A file that takes the place of another, or leaves its own. */
export interface Move {
  readonly from: string
  readonly to: string
  /** What was there when the change began; null for nothing. */
  readonly was?: Print | null
}

/** By what a file is known to be still the same. */
export interface Print {
  readonly mtimeMs: number
  readonly size: number
  readonly ino: number
}

/** What is local to a clone: never committed, shared by its worktrees. */
export interface State {
  readonly version: 1
  /** The highest number that was given by prefix: an id is never given twice. */
  readonly numbers: Readonly<Record<string, number>>
  readonly claims: Readonly<Record<string, Claim>>
  readonly attempts: Readonly<Record<string, readonly Attempt[]>>
  /** What the last change moves, unless its writer was killed, and what could not be moved so far. */
  readonly moves?: readonly Move[]
  /** By folder of tasks. */
  readonly seals?: Readonly<Record<string, Seal>>
  /** What was deleted on purpose, so that nobody misses it. */
  readonly deleted?: readonly string[]
  /** How many settled claims were left when it was last looked which of them nobody needs. */
  readonly kept?: number
}

/** A state that cannot be read counts as empty: the files are the truth. */
export function readState(places: Places): State {
  const state = shapeState(readObject(places))
  const { moves = [] } = state
  const ours = moves.filter((move) => isOurMove(move, places, state))
  return ours.length === moves.length ? state : { ...state, moves: ours }
}

function readObject(places: Places): Record<string, unknown> {
  const path = findState(places)
  if (path === undefined) return {}
  try {
    const value = parseJson(readFileSync(path, 'utf8'))
    const isOurs = typeof value === 'object' && value !== null && 'version' in value
    return isOurs && value.version === 1 ? value : {}
  } catch {
    return {}
  }
}

export function hasState(places: Places): boolean {
  return findState(places) !== undefined
}

/** A project that has become a repository brings its state along, until the next change writes it there. */
function findState(places: Places): string | undefined {
  const { shared, local } = places
  const path = pathIn(shared)
  if (shared !== local && isRealFile(path)) return path
  const beside = pathIn(local)
  return existsSync(beside) && isBelieved(beside, places) ? beside : undefined
}

/** Beside the tasks lies also what a repository brings along: what git tracks was not written here. */
function isBelieved(path: string, places: Places): boolean {
  if (!isRealFile(path) || !isOwnFolder(places.local, places)) return false
  return places.shared === places.local || !isTracked(path, process.env)
}

function pathIn(folder: string): string {
  return join(folder, 'state.json')
}

export function writeState(places: Places, state: State): void {
  writeFileAtomic(pathIn(places.shared), JSON.stringify(state), { durable: false })
}
