import { priorityOf, type Task } from './task.ts'

const DAY = /^\d{4}-\d\d-\d\d$/

/** Done tasks are never overdue. A date without a time is due until the end of the local day. */
export function isOverdue({ due, status }: Task, now: Date): boolean {
  if (due === undefined || status === 'Done') return false
  if (DAY.test(due)) return due < localDay(now)
  const moment = Date.parse(due)
  return !Number.isNaN(moment) && moment < now.getTime()
}

function localDay(now: Date): string {
  const [month, day] = [now.getMonth() + 1, now.getDate()].map((part) => `${part}`.padStart(2, '0'))
  return `${now.getFullYear()}-${month}-${day}`
}

/** Moves overdue tasks to the front of their priority; the tasks must be sorted by priority. */
export function overdueFirst(tasks: readonly Task[], now: Date): readonly Task[] {
  const late = new Set(tasks.filter((task) => isOverdue(task, now)))
  if (late.size === 0) return tasks
  const isLate = (task: Task) => Number(late.has(task))
  return tasks.toSorted((a, b) => priorityOf(a) - priorityOf(b) || isLate(b) - isLate(a))
}

/**
 * The urgency of each open task, 0 is most urgent: the highest priority among itself and the open tasks that
 * depend on it, directly or not; within one priority, overdue tasks and their dependencies come first.
 */
export function rankTasks(tasks: readonly Task[], now: Date): ReadonlyMap<string, number> {
  const open = new Map<string, Task>()
  for (const task of tasks) if (task.status !== 'Done') open.set(task.id, task)
  const late = spread(open, (task) => (isOverdue(task, now) ? 0 : 1))
  const ranks = spread(open, priorityOf)
  for (const [id, priority] of ranks) ranks.set(id, priority * 2 + late.get(id)!)
  return ranks
}

/** The lowest value among each task and the tasks that depend on it, directly or not. */
function spread(
  open: ReadonlyMap<string, Task>,
  valueOf: (task: Task) => number,
): Map<string, number> {
  const lowest = new Map<string, number>()
  const byValue = Map.groupBy(open.values(), valueOf)
  // In ascending order, so that each task is reached once, even in a cycle.
  for (const [value, reached] of [...byValue].toSorted(([a], [b]) => a - b)) {
    for (const { id, dependencies } of reached) {
      if (lowest.has(id)) continue
      lowest.set(id, value)
      reached.push(...dependencies.flatMap((each) => open.get(each) ?? []))
    }
  }
  return lowest
}
