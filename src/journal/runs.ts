import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode, UserError } from '../base/errors.ts'
import { lstatOf } from '../base/files.ts'
import type { RunState } from '../events/state.ts'
import type { Foreign } from './origins.ts'
import { eventsPath, readState } from './read-run.ts'
import type { RecordPlaces } from './record-folder.ts'
import { holderOf, RunLock, withoutLife, type Holder } from './run-lock.ts'

/** A run by its record. */
export interface RunBrief {
  readonly id: string
  readonly folder: string
  readonly status: 'running' | 'waiting' | 'complete' | 'failed' | 'stopped' | 'dead'
  readonly state: RunState
  /** What of its events is missing, in words. */
  readonly damage: readonly string[]
  /** Who drives it now. */
  readonly holder?: Holder
  /** Why it does not count as made here: then it can be looked at, and no more. */
  readonly foreign?: Foreign
}

/** So many ids fit into a hint. */
const NAMED = 5

/** What a record may be called: messages repeat it. */
const NAME = /^\w[\w.-]*$/

/** Folders that are being removed are called so. */
const REMOVED = '.removed-'

/** All runs in these folders, or those whose record is wanted, the newest first. */
export function listRuns(places: RecordPlaces, isWanted?: (folder: string) => boolean): RunBrief[] {
  return readRuns(places, isWanted).runs
}

/** Those that were made here. */
export function listOwnRuns(
  places: RecordPlaces,
  isWanted: (folder: string) => boolean = () => true,
): RunBrief[] {
  const isOwn = (folder: string) => places.origins.isSigned(folder) && isWanted(folder)
  return listRuns(places, isOwn)
}

/** All runs, the newest first, and the ids of those whose record cannot be read. */
export function readRuns(
  places: RecordPlaces,
  isWanted: (folder: string) => boolean = () => true,
): { runs: RunBrief[]; broken: string[] } {
  const runs: RunBrief[] = []
  const broken: string[] = []
  for (const folder of recordsIn(places.roots).filter(isWanted)) {
    const run = readBrief(folder, places)
    if (run === undefined) broken.push(basename(folder))
    else runs.push(run)
  }
  return { runs, broken }
}

/**
 * The run of that id, or of the only id that begins or ends so; where none is said, the newest that was
 * made here, or else the newest.
 */
export function findRun(places: RecordPlaces, word: string | undefined): RunBrief {
  const { roots } = places
  if (word === undefined) {
    const newest = newestOwnRun(places) ?? newestOf(recordsIn(roots), places)
    if (newest !== undefined) return newest
    const [broken] = recordsIn(roots)
    if (broken !== undefined) throw unreadable(broken)
    throw new UserError('There is no run yet.', `Its record would be in ${roots[0]}.`)
  }
  const records = recordsIn(roots)
  const id = chooseId(
    records.map((each) => basename(each)),
    word,
  )
  const folder = records.find((each) => basename(each) === id)!
  const run = readBrief(folder, places)
  if (run !== undefined) return run
  throw unreadable(folder)
}

function unreadable(folder: string): UserError {
  return new UserError(`The record of run ${basename(folder)} cannot be read.`, `See ${folder}.`)
}

/** The newest run that was made here and whose record can be read. */
export function newestOwnRun(places: RecordPlaces): RunBrief | undefined {
  const own = recordsIn(places.roots).filter((folder) => places.origins.isSigned(folder))
  return newestOf(own, places)
}

/** Ids of records that were made here, are newer than that run, and cannot be read. */
export function unreadableNewerThan(places: RecordPlaces, id = ''): string[] {
  return recordsIn(places.roots)
    .filter((folder) => basename(folder) > id && places.origins.isSigned(folder))
    .filter((folder) => readBrief(folder, places) === undefined)
    .map((folder) => basename(folder))
}

function newestOf(folders: readonly string[], places: RecordPlaces): RunBrief | undefined {
  for (const folder of folders) {
    const run = readBrief(folder, places)
    if (run !== undefined) return run
  }
  return undefined
}

/** Why a record is to be kept, by its folder; undefined where nothing speaks against its removal. */
export type WhyWanted = (folder: string) => string | undefined

/** The records beyond the newest ones, of which those that came from elsewhere make none give way. */
export function oldRecords({ roots, origins }: RecordPlaces, keep: number): string[] {
  const records = recordsIn(roots)
  if (records.length <= keep) return []
  const { own = [], others = [] } = Object.groupBy(records, (folder) =>
    origins.isSigned(folder) ? 'own' : 'others',
  )
  return [...own, ...others].slice(keep)
}

/**
 * Removes all runs but the newest, and none that is driven or wanted. Where one cannot be removed,
 * the others are all the same.
 */
export function pruneRuns(places: RecordPlaces, keep: number, whyWanted?: WhyWanted): string[] {
  for (const root of places.roots) sweepRemoved(root)
  const removed: string[] = []
  let problem: unknown
  for (const folder of oldRecords(places, keep)) {
    // What belongs to the repository is not ours to remove.
    if (places.origins.strictly(folder) === 'tracked') continue
    try {
      if (remove(folder, whyWanted)) removed.push(basename(folder))
    } catch (error) {
      problem ??= error
    }
  }
  if (problem !== undefined) throw problem
  return removed
}

/** The folders of all records, the newest first: ids sort by time. */
export function recordsIn(roots: readonly string[]): string[] {
  return roots
    .flatMap((root) =>
      namesIn(root)
        .filter((name) => NAME.test(name))
        .map((name) => join(root, name)),
    )
    .filter((folder) => lstatOf(folder)?.isDirectory() === true)
    .filter((folder) => lstatOf(eventsPath(folder)) !== undefined)
    .toSorted((one, other) => (basename(one) < basename(other) ? 1 : -1))
}

function namesIn(root: string): string[] {
  try {
    return readdirSync(root)
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return []
    throw error
  }
}

function readBrief(folder: string, { origins }: RecordPlaces): RunBrief | undefined {
  const id = basename(folder)
  try {
    const found = holderOf(folder)
    const holder = found === undefined || found.life === 'dead' ? undefined : withoutLife(found)
    const { state, damage } = readState(folder)
    // Whoever drives it may not have come to its first event yet.
    if (state.startedAt === undefined && holder === undefined) return undefined
    const status = statusOf(state, found?.life)
    const foreign = origins.foreignness(folder)
    return {
      id,
      folder,
      status,
      state,
      damage,
      ...(holder === undefined ? {} : { holder }),
      ...(foreign === undefined ? {} : { foreign }),
    }
  } catch {
    return undefined
  }
}

/** `life` is that of the process which has the lock: one that ended in order has let go of it. */
function statusOf(
  { ended, waiting, hasCrew }: RunState,
  life: NonNullable<ReturnType<typeof holderOf>>['life'] | undefined,
): RunBrief['status'] {
  const isDriven = life !== undefined && life !== 'dead'
  const isQueueOpen = hasCrew === true && life !== undefined
  if (ended !== undefined && !isQueueOpen) {
    if (ended.stopped !== undefined) return 'stopped'
    return ended.ok ? 'complete' : 'failed'
  }
  if (!isDriven) return 'dead'
  return waiting === undefined ? 'running' : 'waiting'
}

function chooseId(ids: readonly string[], word: string): string {
  if (ids.includes(word)) return word
  const found = word === '' ? [] : ids.filter((id) => id.startsWith(word) || id.endsWith(word))
  if (found.length === 1) return found[0]!
  if (found.length > 1) throw new UserError(`Several runs are called '${word}'.`, nameSome(found))
  const hint = ids.length === 0 ? 'There is no run yet.' : nameSome(ids)
  throw new UserError(`There is no run '${word}'.`, hint)
}

function nameSome(ids: readonly string[]): string {
  const more = ids.length > NAMED ? `, and ${ids.length - NAMED} more` : ''
  return `Runs, the newest first: ${ids.slice(0, NAMED).join(', ')}${more}`
}

/** What a process that died was about to remove. */
function sweepRemoved(root: string): void {
  for (const name of namesIn(root)) {
    if (name.startsWith(REMOVED)) rmSync(join(root, name), { recursive: true, force: true })
  }
}

/** Moved away first, so that nobody ever sees half a record; false where it is driven or wanted. */
function remove(folder: string, whyWanted?: WhyWanted): boolean {
  if (whyWanted?.(folder) !== undefined) return false
  // Nobody can begin to drive it while we have it.
  const lock = RunLock.take(folder)
  if (!(lock instanceof RunLock)) return false
  const removed = join(dirname(folder), `${REMOVED}${basename(folder)}`)
  try {
    renameSync(folder, removed)
  } catch (error) {
    lock.release()
    throw error
  }
  rmSync(removed, { recursive: true, force: true })
  return true
}
