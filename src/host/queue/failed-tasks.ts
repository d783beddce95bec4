import { pushCommand } from '../../queue/push-options.ts'
import { openSqliteStoreToRead } from '../../queue/sqlite-store.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { newestOf } from './drive.ts'
import { hasStore, storePath } from './store-path.ts'

/** Maximum number of tasks for which to show the command that pushes them again. */
export const MOST_PUSHED = 3

interface FailedTasks {
  readonly shown: readonly { readonly name: string; readonly push: string }[]
  /** How many are not shown. */
  readonly more: number
}

/** The failed tasks of a run that were neither cancelled nor redone under the same name. */
export async function readFailedTasks({
  id,
  folder,
}: Pick<RunBrief, 'id' | 'folder'>): Promise<FailedTasks> {
  if (!hasStore(folder)) return { shown: [], more: 0 }
  const store = await openSqliteStoreToRead(storePath(folder))
  try {
    const tasks = await store.list(id)
    const names = new Set(tasks.map(({ name }) => name))
    const failed = newestOf(tasks, [...names]).filter(
      ({ end }) => end?.success === false && end.class !== 'cancelled',
    )
    const shown = failed.slice(0, MOST_PUSHED)
    return {
      shown: shown.map((task) => ({ name: task.name, push: pushCommand(task, ` --run ${id}`) })),
      more: failed.length - shown.length,
    }
  } finally {
    await store.close()
  }
}
