import { UserError } from '../base/errors.ts'
import { findOrNone, Unusable } from './find.ts'
import { Refused } from './refused.ts'
import type { TaskFolders } from './folders.ts'
import type { Task } from './task.ts'
import { applyChanges } from './text/changes.ts'
import { readCriteria } from './text/criteria.ts'
import type { Status } from './status.ts'

/** The statuses that tasks will have after the change that is being made. */
type Changed = ReadonlyMap<string, Status>

/** The dependencies that are not Done, as `TASK-001 (To Do)`. */
export function listUndone(
  folders: TaskFolders,
  dependencies: readonly string[],
  changed: Changed,
): string[] {
  return dependencies.flatMap((id) => {
    const status = changed.get(id) ?? statusOf(folders, id)
    return status === 'Done' ? [] : [`${id} (${status})`]
  })
}

/** Reads the file, because the index may be stale. */
function statusOf(folders: TaskFolders, id: string): string {
  try {
    return findOrNone(folders, id)?.task.status ?? 'missing'
  } catch (error) {
    if (error instanceof Unusable) return 'unreadable'
    if (error instanceof UserError) return 'unknown'
    throw error
  }
}

/** Refuses a task with open criteria or dependencies; if forced, adds a note instead. */
export function finish(
  { id, dependencies }: Task,
  text: string,
  {
    folders,
    changed,
    force,
    now,
  }: { folders: TaskFolders; changed: Changed; force: boolean; now: Date },
): string {
  const criteria = readCriteria(text)
    .filter(({ isDone }) => !isDone)
    .map(({ number, text: words }) => `#${number} ${words.replaceAll('\n', ' ')}`)
  const undone = listUndone(folders, dependencies, changed)
  if (criteria.length === 0 && undone.length === 0) return text
  if (!force) throw refusal(id, criteria, undone)
  const notes = [
    ...(criteria.length === 0 ? [] : [`Marked done with open criteria: ${criteria.join('; ')}`]),
    ...(undone.length === 0 ? [] : [`Marked done with open dependencies: ${undone.join(', ')}`]),
  ]
  return applyChanges(text, { appendNotes: notes }, now)
}

function refusal(id: string, criteria: readonly string[], undone: readonly string[]): Refused {
  const list = (lines: readonly string[]) => lines.map((line) => `\n  ${line}`).join('')
  const open = `has open acceptance criteria:${list(criteria)}`
  const waits = `depends on tasks that are not done:${list(undone)}`
  if (undone.length === 0) {
    return new Refused(
      `${id} ${open}`,
      'Check them off with --check-ac N, or override with --force.',
    )
  }
  if (criteria.length === 0) {
    return new Refused(
      `${id} ${waits}`,
      'Finish them first, remove them with --remove-dep ID, or override with --force.',
    )
  }
  return new Refused(
    `${id} ${open}\nIt ${waits}`,
    'Check off criteria with --check-ac N, finish or remove (--remove-dep ID) dependencies, or override with --force.',
  )
}
