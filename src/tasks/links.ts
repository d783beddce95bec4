import type { Task } from './task.ts'

/** Dependencies between the tasks of a list, by position in the list. */
export interface Links {
  /** Where the targets of each task begin; one more entry ends the last. */
  readonly starts: Uint32Array
  /** The positions of the dependencies, in their order. */
  readonly targets: Int32Array
}

/** The position of a dependency that is not in the list. */
export const NOWHERE = -1

/** The ids must be unique. */
export function makeLinks(tasks: readonly Task[]): Links {
  const places = new Map<string, number>()
  for (let place = 0; place < tasks.length; place++) places.set(tasks[place]!.id, place)
  const starts = new Uint32Array(tasks.length + 1)
  const targets: number[] = []
  for (let place = 0; place < tasks.length; place++) {
    for (const id of tasks[place]!.dependencies) targets.push(places.get(id) ?? NOWHERE)
    starts[place + 1] = targets.length
  }
  return { starts, targets: Int32Array.from(targets) }
}

/** How many open tasks depend on each task. */
export function countWaiting(tasks: readonly Task[], { starts, targets }: Links): Uint32Array {
  const waiting = new Uint32Array(tasks.length)
  for (let place = 0; place < tasks.length; place++) {
    if (tasks[place]!.status === 'Done') continue
    for (let at = starts[place]!; at < starts[place + 1]!; at++) {
      const target = targets[at]!
      if (target !== NOWHERE) waiting[target]!++
    }
  }
  return waiting
}

/** The positions of the tasks that depend on the task at `target`. */
export function findWaiting({ starts, targets }: Links, target: number): number[] {
  const found: number[] = []
  let place = 0
  for (let at = targets.indexOf(target); at !== -1; at = targets.indexOf(target, at + 1)) {
    while (starts[place + 1]! <= at) place++
    found.push(place)
  }
  return found
}
