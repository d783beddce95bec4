import { lstatSync, mkdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { claimedError } from './claims/claims.ts'
import { isHeldByAnother } from './claims/owner.ts'
import { endClaim, endedBy } from './claims/settle.ts'
import { change } from './store/change.ts'
import { findTask, readTaskOrThrow, type TaskText } from './find.ts'
import type { Caller } from './list.ts'
import { checkoutOf, withCurrentRoot } from './store/checkouts.ts'
import type { Places } from './store/places.ts'
import { Refused } from './refused.ts'
import { scanTasks } from './store/scan.ts'
import type { Claim, State } from './store/state.ts'
import type { Task } from './task.ts'
import { applyChanges } from './text/changes.ts'
import { readNotes } from './text/read-body.ts'
import type { Status } from './status.ts'

export interface ArchiveOptions extends Caller {
  /** Allows tasks that are not Done or that others depend on; those keep waiting. */
  readonly force?: boolean
}

/** Archives all tasks or none; dependencies on them stay valid. */
export function archiveTasks(
  places: Places,
  words: readonly string[] | 'done',
  caller: ArchiveOptions,
): string[] {
  return change(places, (draft) => {
    const { claims } = draft.state
    const holder = ({ id }: Task) => heldByAnother(claims[id], caller)
    const found = words === 'done' ? findDone(places) : findAll(places, words)
    const open = found.filter(
      (each) => !isArchived(each, places) && (words !== 'done' || !holder(each.task)),
    )
    for (const { task } of open) {
      refuseHeld(task.id, holder(task), places)
      if (caller.force !== true) refuseOpen(task)
      refuseExisting(places.archive, task)
    }
    if (open.length > 0) mkdirSync(places.archive, { recursive: true })
    for (const { task, text, path } of open) {
      if (task.status !== 'Done') draft.write(path, noteArchived(text, task.status, caller.now))
      draft.move(path, join(places.archive, task.file))
    }
    draft.state = open.reduce((state, { task }) => endOwnClaim(state, task, caller), draft.state)
    return open.map(({ task }) => task.id)
  })
}

/** Moves all tasks back from the archive, or none; their status stays. */
export function unarchiveTasks(places: Places, words: readonly string[]): string[] {
  return change(places, (draft) => {
    const archived = findAll(places, words)
    for (const each of archived) {
      if (!isArchived(each, places)) throw new Refused(`${each.task.id} is not archived.`)
      refuseExisting(places.tasks, each.task)
    }
    for (const { task, path } of archived) draft.move(path, join(places.tasks, task.file))
    return archived.map(({ task }) => task.id)
  })
}

export function isArchived({ path }: Pick<TaskText, 'path'>, { archive }: Places): boolean {
  return dirname(path) === archive
}

function findAll(places: Places, words: readonly string[]): TaskText[] {
  const found = words.map((word) => findTask(places, word))
  return [...new Map(found.map((each) => [each.task.id, each])).values()]
}

/** Reads the files, because the index may be stale. */
function findDone(places: Places): TaskText[] {
  const done = scanTasks(places).tasks.filter(({ status }) => status === 'Done')
  return done
    .map(({ file }) => readTaskOrThrow(places.tasks, file))
    .filter(({ task }) => task.status === 'Done')
}

/** The note tells the doctor that an unfinished task was archived on purpose. */
function noteArchived(text: string, status: Status, now: Date): string {
  const note = archivedNote(status)
  const isNoted = readNotes(text).split('\n').includes(note)
  return isNoted ? text : applyChanges(text, { appendNotes: [note] }, now)
}

export function archivedNote(status: Status): string {
  return `Archived while ${status}.`
}

export function heldByAnother(claim: Claim | undefined, { owner, now }: Caller): Claim | undefined {
  return claim !== undefined && isHeldByAnother(claim, owner, now) ? claim : undefined
}

export function refuseHeld(id: string, claim: Claim | undefined, places: Places): void {
  if (claim === undefined) return
  throw claimedError(id, withCurrentRoot(claim, checkoutOf(claim, places)), places)
}

function refuseOpen({ id, status }: Task): void {
  if (status === 'Done') return
  throw new Refused(`${id} is ${status}.`, 'Finish it first, or archive it anyway with --force.')
}

function refuseExisting(folder: string, { file, id }: Task): void {
  const path = join(folder, file)
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return
  const name = `${basename(folder)}/${file}`
  throw new Refused(`Cannot move ${id}: "${name}" already exists.`, 'Rename one of the two files.')
}

/** A settled claim stays, because other worktrees do not have the change yet. */
export function endOwnClaim(state: State, { id, status }: Task, { owner, now }: Caller): State {
  const claim = state.claims[id]
  if (claim?.settled !== undefined) return state
  const outcome = status === 'Done' ? 'done' : 'released'
  return endClaim(state, id, { outcome, now, ...endedBy(claim, owner.name) })
}
