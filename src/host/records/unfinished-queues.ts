import { basename } from 'node:path'
import { counted } from '../../base/amounts.ts'
import { statOf } from '../../base/files.ts'
import type { RecordPlaces } from '../../records/journal/record-folder.ts'
import { isDriven } from '../../records/journal/run-lock.ts'
import { listOwnRuns } from '../../records/journal/runs.ts'
import type { QueueSummary, Unreadable } from '../../queue/store.ts'
import { hasStore, storePath } from '../queue/store-path.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'

/** Why the record of a run should be kept; undefined if it can be removed. */
export async function whyWanted(folder: string): Promise<string | undefined> {
  if (statOf(storePath(folder)) === undefined) return undefined
  const counts = await countTasks(folder)
  if ('why' in counts) return 'its queue cannot be read'
  const open = countOpen(counts)
  if (open > 0) return `${tasksAre(open)} queued in it`
  if (counts.unread > 0) {
    return `${counted(counts.unread, 'result')} ${counts.unread === 1 ? 'is' : 'are'} unread in it`
  }
  const [left] = worktreesOf(folder)
  return left === undefined ? undefined : `the work of a task is in ${left}`
}

function worktreesOf(folder: string): string[] {
  return [...readEventsOf(folder, ['task_ended'])].flatMap(({ worktree }) =>
    worktree?.isKept === true && statOf(worktree.path) !== undefined ? [worktree.path] : [],
  )
}

/** A line for each other run with tasks in its queue. */
export async function otherQueues(
  places: RecordPlaces,
  run: string,
  option = '',
  verb: 'queue' | 'run-queue' = 'queue',
): Promise<string[]> {
  const lines: string[] = []
  // Few runs have a queue, and reading all records can take longer than a short run.
  const hasQueue = (folder: string) => basename(folder) !== run && hasStore(folder)
  for (const { id, folder } of listOwnRuns(places, hasQueue)) {
    if (isDriven(folder)) continue
    const counts = await countTasks(folder)
    const open = 'why' in counts ? 0 : countOpen(counts)
    const command = `forkhestra ${verb} --run ${id}${option}`
    if (open > 0) lines.push(`${tasksAre(open)} queued in run ${id}: ${command}`)
  }
  return lines
}

function tasksAre(count: number): string {
  return `${counted(count, 'task')} ${count === 1 ? 'is' : 'are'}`
}

export function countOpen({ queued, ready, running }: QueueSummary): number {
  return queued + ready + running
}

/** Loads the code for stores only if there is one: every run calls this at its start and end. */
async function countTasks(folder: string): Promise<QueueSummary | Unreadable> {
  const { readSummary } = await import('../../queue/sqlite/summary.ts')
  return readSummary(storePath(folder), basename(folder))
}
