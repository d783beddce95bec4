import type { Task } from './task.ts'

/** Which task waits for which, by their places in the list: numbers are found faster than ids. */
export interface Links {
  /** Where the links of each task begin, and where those of the last one end. */
  readonly starts: Uint32Array
  /** For whom they wait, in the order of their dependencies. */
  readonly targets: Int32Array
}

/** The place of what is not in the list. */
export const NOWHERE = -1

/** For tasks of which no two have the same id. */
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

/** How many open tasks wait for each. */
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

/** The places of those that wait for the one at a place. */
export function findWaiting({ starts, targets }: Links, target: number): number[] {
  const found: number[] = []
  let place = 0
  for (let at = targets.indexOf(target); at !== -1; at = targets.indexOf(target, at + 1)) {
    while (starts[place + 1]! <= at) place++
    found.push(place)
  }
  return found
}
