import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { lstatOf } from '../base/files.ts'
import { isArchived } from './archive.ts'
import { claimedError } from './claims/claims.ts'
import { isHeldByAnother, type Caller } from './claims/owner.ts'
import { endClaim } from './claims/claim-changes.ts'
import { findTask, hasTask, readTaskOrThrow, type TaskText } from './find.ts'
import { readId } from './id.ts'
import { Refused } from './refused.ts'
import { change } from './store/change.ts'
import { checkoutOf, listCheckouts, withCurrentRoot } from './store/checkouts.ts'
import type { TaskFolders } from './folders.ts'
import { scanTasks } from './store/scan.ts'
import type { State } from './store/state-shape.ts'
import type { Task } from './task.ts'
import { applyChanges } from './text/changes.ts'
import { readNotes } from './text/read-body.ts'
import type { Status } from './status.ts'

interface Options extends Caller {
  /** Allows tasks that are not Done or that others depend on; those keep waiting. */
  readonly force?: boolean
}

/** Archives all tasks or none; dependencies on them stay valid. */
export function archiveTasks(
  folders: TaskFolders,
  words: readonly string[] | 'done',
  caller: Options,
): string[] {
  return change(folders, (draft) => {
    const { claims } = draft.state
    const isHeld = ({ task }: TaskText) => isHeldByAnother(claims[task.id], caller)
    const found =
      words === 'done'
        ? findDone(folders).filter((each) => !isHeld(each))
        : findAll(folders, words).filter((each) => !isArchived(each, folders))
    for (const { task } of found) {
      refuseHeld(task.id, draft.state, caller, folders)
      if (caller.force !== true) refuseOpen(task)
      refuseExisting(folders.archive, task)
    }
    if (found.length > 0) mkdirSync(folders.archive, { recursive: true })
    for (const { task, text, path } of found) {
      if (task.status !== 'Done') draft.write(path, noteArchived(text, task.status, caller.now))
      draft.move(path, join(folders.archive, task.file))
      draft.state = endOwnClaim(draft.state, task, caller)
    }
    return found.map(({ task }) => task.id)
  })
}

/** Moves all tasks back from the archive, or none; their status stays. */
export function unarchiveTasks(folders: TaskFolders, words: readonly string[]): string[] {
  return change(folders, (draft) => {
    const archived = findAll(folders, words)
    for (const each of archived) {
      if (!isArchived(each, folders)) throw new Refused(`${each.task.id} is not archived.`)
      refuseExisting(folders.tasks, each.task)
    }
    for (const { task, path } of archived) draft.move(path, join(folders.tasks, task.file))
    return archived.map(({ task }) => task.id)
  })
}

/** Enough for a run to learn what was deleted while it was running. */
const MOST_DELETED = 1000

/** Deletes a task that nothing depends on. Its id is never reused. */
export function deleteTask(folders: TaskFolders, word: string, caller: Options): string {
  return change(folders, (draft) => {
    const { task, path } = findTask(folders, word)
    const { id } = task
    refuseHeld(id, draft.state, caller, folders)
    if (caller.force !== true) refuseNeeded(folders, id)
    const ended = endOwnClaim(draft.state, task, caller)
    const { prefix, number } = readId(id)!
    const highest = Math.max(ended.numbers[prefix] ?? 0, number)
    draft.state = {
      ...(isElsewhere(ended, id, folders) ? ended : withoutTask(ended, id)),
      numbers: { ...ended.numbers, [prefix]: highest },
      deleted: [...(ended.deleted ?? []), id].slice(-MOST_DELETED),
    }
    draft.remove(path)
    return id
  })
}

function findAll(folders: TaskFolders, words: readonly string[]): TaskText[] {
  const found = words.map((word) => findTask(folders, word))
  return [...new Map(found.map((each) => [each.task.id, each])).values()]
}

function findDone(folders: TaskFolders): TaskText[] {
  const done = scanTasks(folders).tasks.filter(({ status }) => status === 'Done')
  return done.map(({ file }) => readTaskOrThrow(folders.tasks, file))
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

function refuseHeld(id: string, { claims }: State, caller: Caller, folders: TaskFolders): void {
  const claim = claims[id]
  if (!isHeldByAnother(claim, caller)) return
  throw claimedError(id, withCurrentRoot(claim, checkoutOf(claim, folders)), folders)
}

function refuseOpen({ id, status }: Task): void {
  if (status === 'Done') return
  throw new Refused(`${id} is ${status}.`, 'Finish it first, or archive it anyway with --force.')
}

function refuseExisting(folder: string, { file, id }: Task): void {
  if (lstatOf(join(folder, file)) === undefined) return
  const name = `${basename(folder)}/${file}`
  throw new Refused(`Cannot move ${id}: "${name}" already exists.`, 'Rename one of the two files.')
}

function refuseNeeded(folders: TaskFolders, id: string): void {
  const { tasks } = scanTasks(folders)
  const idsOf = (others: readonly Task[]) => others.map((each) => each.id).join(', ')
  const waiting = tasks.filter((each) => each.dependencies.includes(id))
  if (waiting.length > 0) {
    throw new Refused(
      `${idsOf(waiting)} ${waiting.length === 1 ? 'depends' : 'depend'} on ${id}.`,
      'Remove the dependency first, or use --force.',
    )
  }
  const parts = tasks.filter((each) => each.parent === id)
  if (parts.length > 0) {
    throw new Refused(
      `${id} is the parent of ${idsOf(parts)}.`,
      'Change their parent first, or use --force.',
    )
  }
}

/** A settled claim stays, because other worktrees do not have the change yet. */
function endOwnClaim(state: State, { id, status }: Task, { owner, now }: Caller): State {
  if (state.claims[id]?.settled !== undefined) return state
  const outcome = status === 'Done' ? 'done' : 'released'
  return endClaim(state, id, { outcome, now, by: owner.name })
}

/** Another checkout keeps the task, and needs its claim and attempts, until the deletion is merged there. */
function isElsewhere(state: State, id: string, here: TaskFolders): boolean {
  return listCheckouts(state, here).some((there) => there !== here && hasTask(there, id))
}

function withoutTask(state: State, id: string): State {
  const { [id]: _, ...claims } = state.claims
  const { [id]: _ended, ...attempts } = state.attempts
  return { ...state, claims, attempts }
}
