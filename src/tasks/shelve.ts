import { lstatSync, mkdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { takenBy } from './claims/claims.ts'
import { isHeldByAnother } from './claims/owner.ts'
import { endClaim, endedBy } from './claims/settle.ts'
import { change } from './store/change.ts'
import { findTask, readOrRefuse, type TaskText } from './find.ts'
import type { Asking } from './list.ts'
import { checkoutOf, located } from './store/checkouts.ts'
import type { Places } from './store/places.ts'
import { Refused } from './refused.ts'
import { scanTasks } from './store/scan.ts'
import type { Claim, State } from './store/state.ts'
import type { Task } from './task.ts'
import { applyChanges } from './text/changes.ts'
import { readNotes } from './text/read-body.ts'
import type { Status } from './words.ts'

export interface ShelveOptions extends Asking {
  /** Also what is not done, or what others need: whatever waits for it goes on waiting. */
  readonly force?: boolean
}

/** Moves tasks to the archive, all or none; what depends on them still finds them there. */
export function archiveTasks(
  places: Places,
  words: readonly string[] | 'done',
  asking: ShelveOptions,
): string[] {
  return change(places, (draft) => {
    const { claims } = draft.state
    const holder = ({ id }: Task) => heldByAnother(claims[id], asking)
    const found = words === 'done' ? findDone(places) : findAll(places, words)
    const open = found.filter(
      (each) => !isArchived(each, places) && (words !== 'done' || !holder(each.task)),
    )
    for (const { task } of open) {
      refuseHeld(task.id, holder(task), places)
      if (asking.force !== true) refuseOpen(task)
      refuseSecond(places.archive, task)
    }
    if (open.length > 0) mkdirSync(places.archive, { recursive: true })
    for (const { task, text, path } of open) {
      if (task.status !== 'Done') draft.write(path, noteArchived(text, task.status, asking.now))
      draft.move(path, join(places.archive, task.file))
    }
    draft.state = open.reduce((state, { task }) => endOwnClaim(state, task, asking), draft.state)
    return open.map(({ task }) => task.id)
  })
}

/** Brings tasks back from the archive, all or none, as they are. */
export function unarchiveTasks(places: Places, words: readonly string[]): string[] {
  return change(places, (draft) => {
    const archived = findAll(places, words)
    for (const each of archived) {
      if (!isArchived(each, places)) throw new Refused(`${each.task.id} is not archived.`)
      refuseSecond(places.tasks, each.task)
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

/** By the files themselves: the index may be wrong. */
function findDone(places: Places): TaskText[] {
  const done = scanTasks(places).tasks.filter(({ status }) => status === 'Done')
  return done
    .map(({ file }) => readOrRefuse(places.tasks, file))
    .filter(({ task }) => task.status === 'Done')
}

/** In the archive nobody begins it, so it must be known that this was wanted. */
function noteArchived(text: string, status: Status, now: Date): string {
  const note = archivedNote(status)
  const isNoted = readNotes(text).split('\n').includes(note)
  return isNoted ? text : applyChanges(text, { appendNotes: [note] }, now)
}

/** What is noted in a task that is archived before it is done. */
export function archivedNote(status: Status): string {
  return `Archived while ${status}.`
}

export function heldByAnother(claim: Claim | undefined, { owner, now }: Asking): Claim | undefined {
  return claim !== undefined && isHeldByAnother(claim, owner, now) ? claim : undefined
}

export function refuseHeld(id: string, claim: Claim | undefined, places: Places): void {
  if (claim === undefined) return
  throw takenBy(id, located(claim, checkoutOf(claim, places)), places)
}

function refuseOpen({ id, status }: Task): void {
  if (status === 'Done') return
  throw new Refused(
    `${id} is ${status}.`,
    'Finish it first, or archive it nevertheless with --force.',
  )
}

function refuseSecond(folder: string, { file, id }: Task): void {
  const path = join(folder, file)
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return
  const words = basename(folder) === 'archive' ? 'The archive has' : 'There is'
  throw new Refused(`${words} a file "${file}" already, so ${id} stays.`, 'Rename one of the two.')
}

/** What was settled stays: other worktrees do not have it yet. */
export function endOwnClaim(state: State, { id, status }: Task, { owner, now }: Asking): State {
  const claim = state.claims[id]
  if (claim?.settled !== undefined) return state
  const outcome = status === 'Done' ? 'done' : 'released'
  return endClaim(state, id, { outcome, now, ...endedBy(claim, owner.name) })
}
