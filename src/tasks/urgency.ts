import { NOWHERE, type Links } from './links.ts'
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
  if (!tasks.some(({ due }) => due !== undefined)) return tasks
  const late = new Set(tasks.filter((task) => isOverdue(task, now)))
  const isLate = (task: Task) => Number(late.has(task))
  return tasks.toSorted((a, b) => priorityOf(a) - priorityOf(b) || isLate(b) - isLate(a))
}

const LOWEST = 255

/**
 * The urgency of each task, 0 is most urgent: the highest priority among itself and the open tasks that
 * depend on it, directly or not; within one priority, overdue tasks and their dependencies come first.
 */
export function rankTasks(tasks: readonly Task[], links: Links, now: Date): Uint8Array {
  const priorities = spread(tasks, links, priorityOf)
  const hasDue = tasks.some(({ due }) => due !== undefined)
  const late = hasDue
    ? spread(tasks, links, (task) => (isOverdue(task, now) ? 0 : 1))
    : new Uint8Array(tasks.length).fill(1)
  return priorities.map((priority, place) => priority * 2 + late[place]!)
}

/** The lowest value among each task and the open tasks that depend on it, directly or not. */
function spread(
  tasks: readonly Task[],
  { starts, targets }: Links,
  valueOf: (task: Task) => number,
): Uint8Array {
  const lowest = new Uint8Array(tasks.length).fill(LOWEST)
  const byValue = new Map<number, number[]>()
  for (let place = 0; place < tasks.length; place++) {
    if (tasks[place]!.status === 'Done') continue
    const value = valueOf(tasks[place]!)
    const peers = byValue.get(value)
    if (peers === undefined) byValue.set(value, [place])
    else peers.push(place)
  }
  // In ascending order, so that each task is reached once, even in a cycle.
  for (const value of [...byValue.keys()].toSorted((a, b) => a - b)) {
    const reached = byValue.get(value)!
    for (let next = 0; next < reached.length; next++) {
      const place = reached[next]!
      if (lowest[place]! <= value) continue
      lowest[place] = value
      for (let at = starts[place]!; at < starts[place + 1]!; at++) {
        const target = targets[at]!
        if (target !== NOWHERE && tasks[target]!.status !== 'Done') reached.push(target)
      }
    }
  }
  return lowest
}
