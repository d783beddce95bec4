import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { listed } from '../../base/shorten.ts'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { lstatOf } from '../../base/files.ts'
import { holdFolder } from '../../base/linux/lock.ts'
import { addWork, type RunState } from '../events/state.ts'
import { isWaiting } from '../events/waits.ts'
import { Control } from './control.ts'
import type { Foreign } from './origins.ts'
import { eventsPath, PLAN, readRunState } from './read-run.ts'
import { lockRecords, type RecordPlaces } from './record-folder.ts'
import { holderOf, isDriven, isHeld, lastBeatOf, type Holder } from './run-lock.ts'

/** A run, as read from its record. */
export interface RunBrief {
  readonly id: string
  readonly folder: string
  readonly status: 'running' | 'waiting' | 'complete' | 'failed' | 'stopped' | 'dead'
  readonly state: RunState
  /** How long it worked after its last event, if it was killed; the state includes it. */
  readonly lostMs?: number
  /** Descriptions of missing events. */
  readonly damage: readonly string[]
  /** Whether it is active and was asked to stop. */
  readonly isStopping?: boolean
  /** The process that drives it now. */
  readonly holder?: Holder
  /** Why it counts as foreign; such a run can only be viewed. */
  readonly foreign?: Foreign
}

/** Maximum number of ids in a hint. */
const NAMED = 5

/** Valid names of records; messages print them. */
const NAME = /^\w[\w.-]*$/

/** Prefix of folders that are being removed. */
const REMOVED = '.removed-'

/** The runs in these folders, newest first. */
export function listRuns(places: RecordPlaces): RunBrief[] {
  return readRuns(places).runs
}

/** The runs that were made here, newest first. */
export function listOwnRuns(
  places: RecordPlaces,
  isWanted: (folder: string) => boolean = () => true,
): RunBrief[] {
  return readRuns(places, (folder) => places.origins.isSigned(folder) && isWanted(folder)).runs
}

/** The runs in these folders, newest first, and the ids of unreadable records. */
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
 * The run with that id, or with the only id that begins or ends with `word`. Without `word`, the newest run
 * made here that no other run started, otherwise the newest of all.
 */
export function findRun(places: RecordPlaces, word: string | undefined): RunBrief {
  const records = recordsIn(places.roots)
  if (word !== undefined) {
    const folder = chooseRecord(records, word)
    return readBrief(folder, places) ?? refuseUnreadable(folder)
  }
  const [newest] = records
  if (newest === undefined)
    throw new UserError('There are no runs yet.', `Records are kept in ${places.roots[0]}.`)
  return newestOwnRun(places) ?? firstReadable(records, places) ?? refuseUnreadable(newest)
}

function refuseUnreadable(folder: string): never {
  throw new UserError(`The record of run ${basename(folder)} cannot be read.`, `See ${folder}.`)
}

/** The newest readable run that was made here and not started by another. */
export function newestOwnRun(places: RecordPlaces): RunBrief | undefined {
  const own = recordsIn(places.roots).filter((folder) => places.origins.isSigned(folder))
  return firstReadable(own, places, (run) => !isNestedRun(run, places))
}

/** The highest id of the runs made here, readable or not. */
export function newestOwnId({ roots, origins }: RecordPlaces): string | undefined {
  const newest = recordsIn(roots).find((folder) => origins.isSigned(folder))
  return newest === undefined ? undefined : basename(newest)
}

/** Whether an agent of another recorded run started it; the outer run decides how the work ended. */
export function isNestedRun(
  { state: { outerRun } }: Pick<RunBrief, 'state'>,
  { roots, insideRun }: RecordPlaces,
): boolean {
  if (outerRun === undefined || outerRun === insideRun || !NAME.test(outerRun)) return false
  return roots.some((root) => lstatOf(eventsPath(join(root, outerRun))) !== undefined)
}

/** Ids of unreadable records made here that are newer than that run. A run that was killed before its first event has nothing to read. */
export function unreadableNewerThan(
  places: RecordPlaces,
  id = '',
  isWanted: (folder: string) => boolean = () => true,
): string[] {
  const isBegun = (folder: string) =>
    lstatOf(eventsPath(folder))?.size !== 0 || lstatOf(join(folder, PLAN)) !== undefined
  return recordsIn(places.roots)
    .filter((folder) => basename(folder) > id && places.origins.isSigned(folder))
    .filter((folder) => isBegun(folder) && isWanted(folder))
    .filter((folder) => readBrief(folder, places) === undefined)
    .map((folder) => basename(folder))
}

function firstReadable(
  folders: readonly string[],
  places: RecordPlaces,
  isWanted: (run: RunBrief) => boolean = () => true,
): RunBrief | undefined {
  const runs = folders.values().map((folder) => readBrief(folder, places))
  return runs.find((run) => run !== undefined && isWanted(run))
}

/** Why a record must be kept; undefined if it may be removed. */
export type WhyWanted = (folder: string) => string | undefined | Promise<string | undefined>

/** The records after the newest `keep` ones; foreign ones count as older than all own ones. */
export function oldRecords(
  { roots, origins }: RecordPlaces,
  keep: number,
  withForeign = false,
): string[] {
  const records = recordsIn(roots)
  if (records.length <= keep) return []
  const { own = [], others = [] } = Object.groupBy(records, (folder) =>
    origins.isSigned(folder) ? 'own' : 'others',
  )
  return [...own, ...(withForeign ? others : [])].slice(keep)
}

export interface Pruned {
  readonly removed: readonly string[]
  readonly failed: readonly { readonly id: string; readonly why: string }[]
}

/** Removes records, except those that are driven or wanted. A failure does not stop the others. */
export async function pruneRuns(
  places: RecordPlaces,
  old: readonly string[],
  whyWanted?: WhyWanted,
): Promise<Pruned> {
  const removed: string[] = []
  const failed: Pruned['failed'][number][] = []
  const attempt = async (id: string, folder: string, work: () => void | Promise<void>) => {
    try {
      await work()
    } catch (error) {
      // Another process has removed it.
      if (errorCode(error) === 'ENOENT' && lstatOf(folder) === undefined) return
      failed.push({ id, why: errorText(error) })
    }
  }
  // Folders that a dead process was about to remove.
  for (const root of places.roots) {
    for (const name of namesIn(root).filter((each) => each.startsWith(REMOVED))) {
      const folder = join(root, name)
      await attempt(name.slice(REMOVED.length), folder, () => {
        // A live process is still removing it.
        if (isHeld(folder)) return
        if (places.origins.checkStrictly(folder) !== 'tracked') removeFolder(folder)
      })
    }
  }
  for (const folder of old) {
    const id = basename(folder)
    await attempt(id, folder, async () => {
      // Never remove files of the repository.
      if (places.origins.checkStrictly(folder) === 'tracked') return
      if (await remove(folder, whyWanted)) removed.push(id)
    })
  }
  return { removed, failed }
}

/** How many of the runs made here are kept. */
const KEPT_RUNS = 50

/** Removes old records when a new run starts. The next run retries failed removals. */
export async function removeOldRuns(places: RecordPlaces, whyWanted?: WhyWanted): Promise<void> {
  const here = { ...places, roots: places.roots.slice(0, 1) }
  try {
    await pruneRuns(here, oldRecords(here, KEPT_RUNS), whyWanted)
  } catch {
    // A failure must not prevent the new run from having a record.
  }
}

/** The folders of all records, newest first: ids sort by time. */
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
    const holder = found === undefined || found.life === 'dead' ? undefined : found
    const { state, damage } = readRunState(folder)
    const lostMs = found?.life === 'dead' ? lostTime(state, lastBeatOf(folder)) : 0
    // A run that has just started may have no event yet.
    if (state.startedAt === undefined && holder === undefined) return undefined
    const status = statusOf(state, found?.life)
    const isStopping = holder !== undefined && new Control(folder).isStopRequested
    const foreign = origins.check(folder)
    return {
      id,
      folder,
      status,
      state: addWork(state, lostMs),
      damage,
      ...(lostMs === 0 ? {} : { lostMs }),
      ...(holder === undefined ? {} : { holder }),
      ...(isStopping ? { isStopping } : {}),
      ...(foreign === undefined ? {} : { foreign }),
    }
  } catch {
    return undefined
  }
}

function lostTime({ clock, skippedMs = 0, ended }: RunState, lastBeat = 0): number {
  if (clock === undefined || ended !== undefined) return 0
  return Math.max(0, Math.round(Math.min(lastBeat, Date.now()) - (clock - skippedMs)))
}

/** `life` is that of the lock's holder; a run that ended cleanly has none. */
export function statusOf(
  state: RunState,
  life: 'alive' | 'dead' | 'unknown' | undefined,
): RunBrief['status'] {
  const { ended, hasCrew } = state
  const isQueueOpen = hasCrew === true && life !== undefined
  if (ended !== undefined && !isQueueOpen) {
    if (ended.stopped !== undefined) return 'stopped'
    return ended.ok ? 'complete' : 'failed'
  }
  if (life === undefined || life === 'dead') return 'dead'
  return isWaiting(state) ? 'waiting' : 'running'
}

function chooseRecord(folders: readonly string[], word: string): string {
  const exact = folders.find((folder) => basename(folder) === word)
  if (exact !== undefined) return exact
  const found = folders.filter((folder) => {
    const id = basename(folder)
    return word !== '' && (id.startsWith(word) || id.endsWith(word))
  })
  if (found.length === 1) return found[0]!
  if (found.length > 1) throw new UserError(`Several runs match '${word}'.`, nameSome(found))
  const hint = folders.length === 0 ? 'There are no runs yet.' : nameSome(folders)
  const isNewest = /^(?:last|latest|newest)$/i.test(word)
  throw new UserError(
    `No run matches '${word}'.`,
    isNewest ? `Leave it out for the newest run.\n${hint}` : hint,
  )
}

function nameSome(folders: readonly string[]): string {
  const ids = folders.map((folder) => basename(folder))
  return `Runs, newest first: ${listed(ids, NAMED)}`
}

/** How long to wait for a process that is queueing something. */
const PATIENCE_MS = 2000

/** Renames the folder first, so that no reader sees half a record; false if it is driven, wanted or gone. */
async function remove(folder: string, whyWanted?: WhyWanted): Promise<boolean> {
  const removed = join(dirname(folder), `${REMOVED}${basename(folder)}`)
  const unlock = await lockRecords(dirname(folder), PATIENCE_MS)
  let giveBack: (() => void) | undefined
  try {
    if (lstatOf(folder) === undefined) return false
    if ((await whyWanted?.(folder)) !== undefined || isDriven(folder)) return false
    // The folder's lock keeps others from driving it. No lock file is written into a foreign record.
    giveBack = holdFolder(folder)
    if (giveBack === undefined) return false
    renameSync(folder, removed)
  } catch (error) {
    giveBack?.()
    throw error
  } finally {
    unlock()
  }
  try {
    removeFolder(removed)
  } finally {
    giveBack()
  }
  return true
}

function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true })
}
