import type { Caller } from './claims/owner.ts'
import { judgeTasks } from './list.ts'
import type { TaskFolders } from './folders.ts'
import type { Broken } from './store/scan.ts'
import { PRIORITIES, STATUSES, type Priority, type Status } from './status.ts'

export interface Stats {
  readonly total: number
  readonly ready: number
  readonly byStatus: Readonly<Record<Status, number>>
  /** Counts tasks that are not Done. */
  readonly openByPriority: Readonly<Record<Priority | 'none', number>>
  readonly broken: readonly Broken[]
}

export function makeStats(folders: TaskFolders, caller: Caller): Stats {
  const { scan, graph } = judgeTasks(folders, caller)
  const open = scan.tasks.filter(({ status }) => status !== 'Done')
  const count = <Key extends string>(keys: readonly Key[], keyOf: readonly string[]) =>
    Object.fromEntries(
      keys.map((key) => [key, keyOf.filter((each) => each === key).length]),
    ) as Record<Key, number>
  return {
    total: scan.tasks.length,
    ready: graph.ready().length,
    byStatus: count(
      STATUSES,
      scan.tasks.map(({ status }) => status),
    ),
    openByPriority: count(
      [...PRIORITIES, 'none'],
      open.map(({ priority }) => priority ?? 'none'),
    ),
    broken: scan.broken,
  }
}
