import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { parseJson } from '../../base/json.ts'
import { lifeOf } from '../../base/linux/process-identity.ts'
import { isTracked } from '../../base/tracked.ts'
import type { FileStamp } from './folder.ts'
import { isOwnFolder, isRealFile } from './foreign-links.ts'
import { isOurMove } from './our-moves.ts'
import type { Places } from './places.ts'
import { shapeState } from './state-shape.ts'

/** Identifies a git worktree even after it was moved. */
export interface Worktree {
  /** The name of its folder in `.git/worktrees`. */
  readonly name: string
  /** When that folder was created, because names are reused. */
  readonly bornMs: number
  /** The path from its top to the project, if not the same. */
  readonly inside?: string
}

/** Who holds a task: an iteration of a run, or a name with a lease. */
export interface Claim {
  readonly owner: string
  /** Absent for a person or an agent outside a run. */
  readonly run?: {
    readonly id: string
    readonly step: string
    readonly iteration: string
    readonly process?: string
  }
  readonly at: string
  /** When the claim expires unless renewed; in a run, only if its process cannot be checked. */
  readonly until?: string
  /** How far each command of the owner extends `until`. */
  readonly leaseMs?: number
  /** The path of the checkout at the time of the claim. */
  readonly root: string
  readonly worktree?: Worktree
  /** How the work ended; other checkouts wait for the merge. */
  readonly settled?: 'done' | 'blocked'
}

/** A claim that has ended. */
export interface Attempt {
  readonly owner: string
  readonly at: string
  readonly ended: string
  readonly outcome: 'done' | 'blocked' | 'released' | 'failed'
  readonly why?: string
  /** This failure made the task Blocked. */
  readonly isLast?: true
  readonly run?: Claim['run']
}

export interface Move {
  readonly from: string
  readonly to: string
  /** The target before the change; null if it did not exist. */
  readonly was?: FileStamp | null
}

/** Local to a clone: never committed, shared by its worktrees. */
export interface State {
  readonly version: 1
  /** The highest number used, by prefix: ids are never reused. */
  readonly numbers: Readonly<Record<string, number>>
  readonly claims: Readonly<Record<string, Claim>>
  readonly attempts: Readonly<Record<string, readonly Attempt[]>>
  /** The moves of the last change, in case its writer is killed, and moves that failed so far. */
  readonly moves?: readonly Move[]
  /** The top of the main worktree, which git does not always know. */
  readonly main?: string | undefined
  /** Ids that were deleted on purpose, so that the doctor does not report them. */
  readonly deleted?: readonly string[]
  /** How many settled claims were kept the last time old ones were dropped. */
  readonly kept?: number
}

interface Stored extends State {
  /** The folder that it was written to; earlier versions did not write it. */
  readonly place: string
}

/** An unreadable state counts as empty: the task files are the truth. */
export function readLocalState(places: Places): State {
  const path = findState(places)
  const fields = path === undefined ? {} : readObject(path)
  const isFromHere = path !== undefined && fields['place'] === placeOf(dirname(path))
  const shaped = shapeState(fields)
  const state = isFromHere ? shaped : withoutUntrusted(shaped)
  const { moves = [] } = state
  const ours = moves.filter((move) => isOurMove(move, places, state))
  return ours.length === moves.length ? state : { ...state, moves: ours }
}

/** Identifies a folder even after it was moved; an archive cannot know this value in advance. */
function placeOf(folder: string): string {
  const { ino, birthtimeNs } = statSync(folder, { bigint: true })
  return `${ino}-${birthtimeNs}`
}

/**
 * Drops the claims of a state that may have come with an archive, except those of runs that are alive on
 * this machine, which cannot be forged. States of earlier versions are treated the same way.
 */
function withoutUntrusted(state: State): State {
  const own = Object.entries(state.claims).filter(([, { run }]) => isAliveHere(run?.process))
  return { ...state, claims: Object.fromEntries(own), main: undefined }
}

/** Outside Linux an identity is only a process id, which can be guessed. */
function isAliveHere(identity: string | undefined): boolean {
  return process.platform === 'linux' && identity !== undefined && lifeOf(identity) === 'alive'
}

function readObject(path: string): Record<string, unknown> {
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

/** A project that became a repository keeps its old state until the next change. */
function findState(places: Places): string | undefined {
  const { shared, local } = places
  const path = pathIn(shared)
  if (shared !== local && isRealFile(path)) return isOwnFolder(shared, places) ? path : undefined
  const beside = pathIn(local)
  return existsSync(beside) && isTrusted(beside, places) ? beside : undefined
}

/** State that git tracks came with the repository and is not trusted. */
function isTrusted(path: string, places: Places): boolean {
  if (!isRealFile(path) || !isOwnFolder(places.local, places)) return false
  return places.shared === places.local || !isTracked(path, process.env)
}

function pathIn(folder: string): string {
  return join(folder, 'state.json')
}

export function writeState(places: Places, state: State): void {
  const stored: Stored = { ...state, place: placeOf(places.shared) }
  writeFileAtomic(pathIn(places.shared), JSON.stringify(stored), { durable: false })
}
