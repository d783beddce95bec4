import { basename } from 'node:path'
import { counted } from '../../base/amounts.ts'
import { statOf } from '../../base/files.ts'
import type { RecordPlaces } from '../../records/journal/record-folder.ts'
import { holderOf } from '../../records/journal/run-lock.ts'
import { listOwnRuns } from '../../records/journal/runs.ts'
import type { QueueSummary, Unreadable } from '../../queue/store.ts'
import { hasStore, storePath } from '../queue/store-path.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'

/** Why the record of a run is not to be removed by the way; undefined where nothing speaks against it. */
export async function whyWanted(folder: string): Promise<string | undefined> {
  if (statOf(storePath(folder)) === undefined) return undefined
  const counts = await lookInto(folder)
  if ('why' in counts) return 'its queue cannot be read'
  const open = openIn(counts)
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

/** A line for each other run in whose queue something waits for a person. */
export async function otherQueues(
  places: RecordPlaces,
  run: string,
  option = '',
): Promise<string[]> {
  const lines: string[] = []
  // Nearly no run has a queue, and to read all of them takes longer than a short run.
  const hasQueue = (folder: string) => basename(folder) !== run && hasStore(folder)
  for (const { id, folder } of listOwnRuns(places, hasQueue)) {
    if (isDriven(folder)) continue
    const counts = await lookInto(folder)
    const open = 'why' in counts ? 0 : openIn(counts)
    const command = `forkhestra queue --run ${id}${option}`
    if (open > 0) lines.push(`${tasksAre(open)} queued in run ${id}: ${command}`)
  }
  return lines
}

function tasksAre(count: number): string {
  return `${counted(count, 'task')} ${count === 1 ? 'is' : 'are'}`
}

function isDriven(folder: string): boolean {
  const life = holderOf(folder)?.life
  return life !== undefined && life !== 'dead'
}

export function openIn({ queued, ready, running }: QueueSummary): number {
  return queued + ready + running
}

/** Loaded where there is a store: every run looks for those of others, and nearly none has one. */
async function lookInto(folder: string): Promise<QueueSummary | Unreadable> {
  const { readSummary: glanceAt } = await import('../../queue/sqlite/summary.ts')
  return glanceAt(storePath(folder), basename(folder))
}
