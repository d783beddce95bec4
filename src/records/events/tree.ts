import type { EventOf } from './event.ts'

// A run is a tree of lists: the chain itself and every group is a list of steps and groups. A place is one
// instance of a step or group, because copies of it may run in parallel.

/** Where an instance of a step or group is in the tree. */
export interface Location {
  /** Its scope without rounds and iterations, such as `g1/s3/c2`. */
  readonly key: string
  /** The key of the group instance that contains it; empty at the top. */
  readonly list: string
}

/** The fields of an event that determine its place. */
export interface PlacedEvent {
  readonly scope: readonly string[]
  readonly step: number
}

/** The fields of a step that determine its place. */
export interface Located {
  readonly id: string
  readonly number: number
  /** The scope of the group that contains it. */
  readonly within?: readonly string[]
  /** Which of its copies it is. */
  readonly copy?: number
}

/** The key of an instance of a step. */
export function keyOf({ id, within = [], copy }: Located): string {
  return keyOfScope([...within, id, ...(copy === undefined ? [] : [`c${copy}`])])
}

/** The keys of the group instances that contain a step, outermost first. */
export function groupKeys({ within = [] }: Located): string[] {
  return within.flatMap((part, index) => {
    if (!/^g\d+$/.test(part)) return []
    const isCopied = /^c\d+$/.test(within[index + 1] ?? '')
    return [keyOfScope(within.slice(0, index + (isCopied ? 2 : 1)))]
  })
}

/** The id of the group that a key belongs to. */
export function groupIdOf(key: string): string {
  return key.split('/').findLast((part) => part.startsWith('g')) ?? ''
}

/** The key of a scope: rounds, iterations and queued tasks are not part of it. */
export function keyOfScope(scope: readonly string[]): string {
  const task = scope.findIndex((part) => /^task:./.test(part))
  const place = task === -1 ? scope : scope.slice(0, task)
  // The id of a step that runs after a failure at the top is `r4`, for example.
  return place.filter((part, index) => index === 0 || !/^[ri]\d+$/.test(part)).join('/')
}

/** Whether a place is inside an instance of a group, or anywhere in the chain if that is empty. */
export function isInside({ key }: Location, group: string): boolean {
  return group === '' || key.startsWith(`${group}/`)
}

type Started = Pick<EventOf<'run_started'>, 'steps' | 'groups'>

/** All instances of the steps and groups of a chain, in the order of their numbers. */
export function expandTree({ steps, groups = [] }: Started) {
  const placed = { steps: [] as Placed<Started['steps'][number]>[], groups: [] as PlacedGroup[] }
  const expand = (list: string, within: string | undefined): void => {
    const isHere = (item: { readonly within?: string | undefined }) => item.within === within
    for (const step of steps.filter(isHere)) {
      const id = stepId(step.step, step.isRecovery === true, within)
      for (const key of keysOf(list, id, step.copies)) placed.steps.push({ ...step, key, list })
    }
    for (const group of groups.filter(isHere)) {
      for (const key of keysOf(list, group.id, group.copies)) {
        placed.groups.push({ ...group, key, list })
        expand(key, group.id)
      }
    }
  }
  expand('', undefined)
  return { ...placed, steps: placed.steps.toSorted((one, other) => one.step - other.step) }
}

type Placed<Item> = Item & Location
type PlacedGroup = Placed<NonNullable<Started['groups']>[number]>

/** In a group, `r4` would be a round. */
export function stepId(number: number, isRecovery: boolean, within: string | undefined): string {
  if (!isRecovery) return `s${number}`
  return within === undefined ? `r${number}` : `f${number}`
}

function keysOf(list: string, id: string, copies: number | undefined): string[] {
  const key = list === '' ? id : `${list}/${id}`
  if (copies === undefined) return [key]
  return Array.from({ length: copies }, (_, index) => `${key}/c${index + 1}`)
}
