import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { statOf } from '../../base/files.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { lifeOf } from '../../base/linux/process-identity.ts'
import { readOrEmpty } from '../../base/repository.ts'
import { isTracked } from '../../base/tracked.ts'
import { folderIdentity } from './folder.ts'
import { isOwnFolder, isRealFile } from './foreign-links.ts'
import { isOurMove } from './our-moves.ts'
import type { TaskFolders } from '../folders.ts'
import { shapeState, type State } from './state-shape.ts'

interface Stored extends State {
  /** The folder that it was written to; earlier versions did not write it. */
  readonly place: string
}

/** An unreadable state counts as empty: the task files are authoritative. */
export function readLocalState(folders: TaskFolders): State {
  const path = findState(folders)
  const fields = path === undefined ? {} : readObject(path)
  const isFromHere = path !== undefined && fields['place'] === folderIdentity(dirname(path))
  const shaped = shapeState(fields)
  const state = isFromHere ? shaped : withoutUntrusted(shaped)
  const { moves = [] } = state
  const ours = moves.filter((move) => isOurMove(move, folders, state))
  return ours.length === moves.length ? state : { ...state, moves: ours }
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
    const value = parseJson(readOrEmpty(path))
    return isObject(value) && value['version'] === 1 ? value : {}
  } catch {
    return {}
  }
}

export function hasState(folders: TaskFolders): boolean {
  return findState(folders) !== undefined
}

/** Changes with every change of the state. */
export function stateStamp(folders: TaskFolders): string {
  const path = findState(folders)
  const { mtimeMs = 0, size = 0, ino = 0 } = (path === undefined ? undefined : statOf(path)) ?? {}
  return [mtimeMs, size, ino].join()
}

/** A project that became a repository keeps its old state until the next change. */
function findState(folders: TaskFolders): string | undefined {
  const { shared, local } = folders
  const path = pathIn(shared)
  if (shared !== local && isRealFile(path)) return isOwnFolder(shared, folders) ? path : undefined
  const beside = pathIn(local)
  return existsSync(beside) && isTrusted(beside, folders) ? beside : undefined
}

/** State that git tracks came with the repository and is not trusted. */
function isTrusted(path: string, folders: TaskFolders): boolean {
  if (!isRealFile(path) || !isOwnFolder(folders.local, folders)) return false
  return folders.shared === folders.local || !isTracked(path, process.env)
}

function pathIn(folder: string): string {
  return join(folder, 'state.json')
}

export function writeState(folders: TaskFolders, state: State): void {
  const stored: Stored = { ...state, place: folderIdentity(folders.shared) }
  writeFileAtomic(pathIn(folders.shared), JSON.stringify(stored), { durable: false })
}
