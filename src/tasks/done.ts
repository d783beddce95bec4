import { Graph } from './ready.ts'
import { Refused } from './refused.ts'
import type { TaskFolders } from './folders.ts'
import { scanTasks } from './store/scan.ts'
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
  if (dependencies.length === 0) return []
  const graph = new Graph(folders, scanTasks(folders))
  return dependencies.flatMap((id) => {
    const status = changed.get(id) ?? graph.statusOf(id) ?? 'missing'
    return status === 'Done' ? [] : [`${id} (${status})`]
  })
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
  const problems = [
    ...(criteria.length === 0 ? [] : [`has open acceptance criteria:${list(criteria)}`]),
    ...(undone.length === 0 ? [] : [`depends on tasks that are not done:${list(undone)}`]),
  ]
  const steps =
    undone.length === 0
      ? 'Check them off with --check-ac N'
      : criteria.length === 0
        ? 'Finish them first, remove them with --remove-dep ID'
        : 'Check off criteria with --check-ac N, finish or remove (--remove-dep ID) dependencies'
  return new Refused(`${id} ${problems.join('\nIt ')}`, `${steps}, or override with --force.`)
}
