import type { BranchState, Moving } from './branch-state.ts'
import type { GroupState } from './group-state.ts'
import type { AsideWork, Lacks, Leftover, LeftInQueue, Spent, Usage } from './schema.ts'
import { addTime, addUsage, NOTHING_SPENT } from './spent.ts'
import { isSettled, NEW_STEP, type StepState } from './step-state.ts'
import { isInside, keyOf, keyOfScope, type Located, type PlacedEvent } from './tree.ts'
import type { Waits } from './waits.ts'

/** The state of a run after the events so far; its size depends on the chain, not on the length of the run. */
export interface RunState extends Waits {
  /** All instances of steps, in the order of their numbers; copies have the same number. */
  readonly steps: readonly StepState[]
  /** All instances of groups; absent if the chain has none. */
  readonly groups?: readonly GroupState[]
  /** All branches with worktrees so far; absent if there are none. */
  readonly branches?: readonly BranchState[]
  /** Moves of target branches that have begun and whose merges have not ended. */
  readonly moving?: readonly Moving[]
  /** First step number of the running or next item of the chain; after the last one, the next number. */
  readonly at: number
  /** Time of the last event that counts for durations, in ms. */
  readonly clock?: number | undefined
  readonly skippedMs?: number | undefined
  readonly spent: Spent
  readonly record?: string
  readonly startedAt?: string
  readonly cwd?: string
  readonly chain?: string
  /** How many agents may run at once, if any run in parallel. */
  readonly maxParallel?: number
  /** The run whose agent started this one. */
  readonly outerRun?: string
  /** Secrets of the plan that the record does not contain. */
  readonly lacks?: Lacks | undefined
  /** Whether an iteration changed files of the repository. */
  readonly hasChangedFiles?: boolean
  /** The first of those files. */
  readonly changedFiles?: readonly string[]
  /** All tasks that were open while an agent built from tasks. */
  readonly openTasks?: readonly string[] | undefined
  /** Whether a process worked on its queue without running its steps. */
  readonly hasCrew?: boolean
  readonly ended?: {
    readonly at?: string | undefined
    readonly ok: boolean
    readonly exitCode: number
    /** What stopped it early, in words. */
    readonly stopped: string | undefined
    /** Whether the failure of its last step still has to be handled, because it was stopped before. */
    readonly isUnhandled?: boolean | undefined
    readonly leftovers: readonly Leftover[]
    readonly queue?: LeftInQueue | undefined
    /** How many files it changed and left uncommitted. */
    readonly uncommitted?: number | undefined
    /** Merged work that is not on its target branch. */
    readonly aside?: readonly AsideWork[] | undefined
  }
}

export const NO_EVENTS: RunState = { steps: [], at: 1, spent: NOTHING_SPENT }

/** The instance of a step; an unknown one is a new step without an agent. */
export function stepAt(state: RunState, step: Located): StepState {
  return findStep(state, keyOf(step), step.number)
}

/** The instance of a step that an event belongs to. */
export function stepOf(state: RunState, { scope, step }: PlacedEvent): StepState {
  return findStep(state, keyOfScope(scope), step)
}

function findStep({ steps }: RunState, key: string, number: number): StepState {
  const same = steps.filter((step) => step.number === number)
  const found = same.length === 1 ? same[0] : same.find((step) => step.key === key)
  return found ?? { key, list: '', number, agent: '', ...NEW_STEP }
}

export function groupAt({ groups = [] }: RunState, key: string): GroupState | undefined {
  return groups.find((group) => group.key === key)
}

export function changeStep(
  state: RunState,
  { key }: StepState,
  fields: Partial<StepState>,
): RunState {
  const steps = state.steps.map((step) => (step.key === key ? { ...step, ...fields } : step))
  return { ...state, steps }
}

export function changeGroup(state: RunState, key: string, fields: Partial<GroupState>): RunState {
  const { groups = [] } = state
  if (groups.length === 0) return state
  return {
    ...state,
    groups: groups.map((group) => (group.key === key ? { ...group, ...fields } : group)),
  }
}

/** Whether a step belongs to the chain itself, and is not a recovery or unknown. */
export function isOwn({ agent, isRecovery }: StepState): boolean {
  return agent !== '' && isRecovery !== true
}

/** An item of a list: a step or group, with its copies. */
export interface ListItem {
  /** Number of its first and last step. */
  readonly first: number
  readonly last: number
  readonly isSettled: boolean
}

/** The items of the chain, or of an instance of a group, in order. */
export function itemsOf({ steps, groups = [] }: RunState, list: string): ListItem[] {
  const items = new Map<number, ListItem>()
  const add = (first: number, last: number, settled: boolean) => {
    const known = items.get(first)
    items.set(first, { first, last, isSettled: settled && (known?.isSettled ?? true) })
  }
  for (const step of steps)
    if (step.list === list && isOwn(step)) add(step.number, step.number, isSettled(step))
  for (const group of groups)
    if (group.list === list) add(group.first, group.last, isGroupSettled(group, steps))
  return [...items.values()].toSorted((one, other) => one.first - other.first)
}

/** Whether all items of the chain are settled; only then a run has succeeded. */
export function isEverythingSettled(state: RunState): boolean {
  return itemsOf(state, '').every((item) => item.isSettled)
}

/** A group whose steps are all skipped by a condition of the chain never starts. */
function isGroupSettled(group: GroupState, steps: readonly StepState[]): boolean {
  const isSkipped = () => steps.every((step) => !isInside(step, group.key) || step.isPassed)
  return isSettled(group) || (group.round === 0 && isSkipped())
}

/** First step number of the first unsettled item from a number on; the number after the list if there is none. */
export function firstOpen(state: RunState, list: string, from: number): number {
  const items = itemsOf(state, list)
  const open = items.find((item) => item.first >= from && !item.isSettled)
  return open?.first ?? (items.at(-1)?.last ?? 0) + 1
}

/** Whether a step needs no further work: it is settled, or a group around it is. */
export function isDone({ groups = [] }: RunState, step: StepState): boolean {
  return isSettled(step) || groups.some((group) => isSettled(group) && isInside(step, group.key))
}

/** Whether two places of a chain may be active at the same time. */
export function areParallel(state: RunState, one: string, other: string): boolean {
  const [parts, others] = [one.split('/'), other.split('/')]
  const at = parts.findIndex((part, index) => part !== others[index])
  if (at === -1) return false
  const isCopy = (part = '') => /^c\d+$/.test(part)
  if (isCopy(parts[at]) && isCopy(others[at])) return true
  return groupAt(state, parts.slice(0, at).join('/'))?.kind === 'parallel'
}

/** First step number of the running or next item of a list. */
export function positionIn(state: RunState, list: string): number {
  return list === '' ? state.at : (groupAt(state, list)?.at ?? 1)
}

export function moveTo(state: RunState, list: string, at: number): RunState {
  return list === '' ? { ...state, at } : changeGroup(state, list, { at })
}

/** The steps of the chain, or of an instance of a group, that are running or would be next. */
export function currentSteps(state: RunState, list = ''): StepState[] {
  const isParallel = groupAt(state, list)?.kind === 'parallel'
  const at = positionIn(state, list)
  const { steps, groups = [] } = state
  const found = [
    ...steps.filter(
      (step) => step.list === list && isOwn(step) && (isParallel || step.number === at),
    ),
    ...groups
      .filter((group) => group.list === list && (isParallel || group.first === at))
      .flatMap(({ key }) => currentSteps(state, key)),
  ]
  return found.toSorted((one, other) => one.number - other.number)
}

/** Adds usage to a step, to the groups around it and to the run. */
export function spend(
  state: RunState,
  step: StepState,
  usage: Usage | undefined,
  isCounted = true,
): RunState {
  const add = (spent: Spent) => addUsage(spent, usage, isCounted)
  return addToPlaces(state, add, (place) => place.key === step.key || isInside(step, place.key))
}

/** Adds to the time of the run, and of its open steps and groups. */
export function addWork(state: RunState, ms: number): RunState {
  return addToPlaces(
    state,
    (spent) => addTime(spent, ms),
    ({ isOpen }) => isOpen,
  )
}

function addToPlaces(
  state: RunState,
  add: (spent: Spent) => Spent,
  isMeant: (place: StepState | GroupState) => boolean,
): RunState {
  const addTo = <Place extends StepState | GroupState>(place: Place): Place =>
    isMeant(place) ? { ...place, spent: add(place.spent) } : place
  const { steps, groups } = state
  return {
    ...state,
    steps: steps.map(addTo),
    ...(groups === undefined ? {} : { groups: groups.map(addTo) }),
    spent: add(state.spent),
  }
}
