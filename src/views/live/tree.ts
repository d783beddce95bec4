import { branchName } from '../../records/events/branch-name.ts'
import type { GroupState } from '../../records/events/group-state.ts'
import type { RunState } from '../../records/events/state.ts'
import { isComplete, type StepState } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { waitsOf } from '../../records/events/waits.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { describeAttempt } from '../attempts.ts'
import type { Entry, History } from './history.ts'

export type Mark =
  | 'running'
  | 'waiting'
  | 'done'
  | 'failed'
  | 'refused'
  | 'stopped'
  | 'skipped'
  | 'pending'
  | 'ended'

interface RowPlace {
  /** Identifies the row while the run changes. */
  readonly key: string
  readonly depth: number
  readonly mark: Mark
  /** Undefined if there is nothing below it. */
  readonly isOpen: boolean | undefined
}

/** A row of the tree of a run. */
export type TreeRow = RowPlace &
  (
    | { readonly kind: 'run' }
    | { readonly kind: 'group'; readonly group: GroupState }
    | { readonly kind: 'step'; readonly step: StepState; readonly last: Entry | undefined }
    | {
        readonly kind: 'round'
        readonly round: number
        readonly step: StepState
        readonly last: Entry | undefined
      }
    | { readonly kind: 'attempt'; readonly entry: Entry; readonly step: StepState | undefined }
  )

export interface RunFacts {
  readonly status: RunBrief['status']
  readonly state: RunState
  readonly history: History
}

/** What the user has opened or closed, by the key of the row. */
export type Opened = ReadonlyMap<string, boolean>

export const RUN_KEY = ''

/** All visible rows, from the top. */
export function treeRows(run: RunFacts, opened: Opened): TreeRow[] {
  const { status, history } = run
  const mark = MARKS[status]
  const orphans = history.orphans.flatMap((each) => attemptRows(run, opened, each, undefined, 1))
  return [
    { kind: 'run', key: RUN_KEY, depth: 0, mark, isOpen: undefined },
    ...listRows(run, opened, '', 1),
    ...orphans,
  ]
}

/** The newest attempt of a row; undefined if it has none or many. */
export function entryOf(row: TreeRow): Entry | undefined {
  if (row.kind === 'attempt') return row.entry
  return row.kind === 'step' || row.kind === 'round' ? row.last : undefined
}

export function isActive({ status }: Pick<RunFacts, 'status'>): boolean {
  return status === 'running' || status === 'waiting'
}

const MARKS: Readonly<Record<RunBrief['status'], Mark>> = {
  running: 'running',
  waiting: 'waiting',
  complete: 'done',
  failed: 'failed',
  stopped: 'stopped',
  dead: 'failed',
}

function listRows(run: RunFacts, opened: Opened, list: string, depth: number): TreeRow[] {
  const { steps, groups = [] } = run.state
  const isShown = (step: StepState) => step.isRecovery !== true || step.rounds > 0
  const items = [
    ...steps
      .filter((step) => step.list === list && isShown(step))
      .map((step) => ({ first: step.number, rows: () => stepRows(run, opened, step, depth) })),
    ...groups
      .filter((group) => group.list === list)
      .map((group) => ({ first: group.first, rows: () => groupRows(run, opened, group, depth) })),
  ]
  return items.toSorted((one, other) => one.first - other.first).flatMap(({ rows }) => rows())
}

function groupRows(run: RunFacts, opened: Opened, group: GroupState, depth: number): TreeRow[] {
  const { key } = group
  const isOpen = opened.get(key) ?? true
  const row: TreeRow = { kind: 'group', key, depth, mark: markOf(run, group), isOpen, group }
  return [row, ...(isOpen ? listRows(run, opened, key, depth + 1) : [])]
}

function stepRows(run: RunFacts, opened: Opened, step: StepState, depth: number): TreeRow[] {
  const { key } = step
  const all = run.history.of(key)
  const last = all.at(-1)
  const isLoop = step.maxIterations !== undefined || all.length > 1
  const hasMore = isLoop || (last?.subAgents.length ?? 0) > 0
  const isOpen = hasMore && all.length > 0 ? (opened.get(key) ?? step.isOpen) : undefined
  const row: TreeRow = { kind: 'step', key, depth, mark: markOf(run, step), isOpen, step, last }
  if (isOpen !== true) return [row]
  const rounds = Map.groupBy(all, ({ of }) => of.round)
  if (rounds.size < 2)
    return [row, ...all.flatMap((each) => attemptRows(run, opened, each, step, depth + 1))]
  return [
    row,
    ...[...rounds].flatMap(([round, attempts]) => {
      const roundKey = `${key}@${round}`
      const isNewest = round === last?.of.round
      const isRoundOpen = opened.get(roundKey) ?? isNewest
      const newest = attempts.at(-1)
      const mark = isNewest ? row.mark : newest === undefined ? 'ended' : markAttempt(run, newest)
      const place = { key: roundKey, depth: depth + 1, mark, isOpen: isRoundOpen }
      const heading: TreeRow = { kind: 'round', ...place, round, step, last: newest }
      if (!isRoundOpen) return [heading]
      return [
        heading,
        ...attempts.flatMap((each) => attemptRows(run, opened, each, step, depth + 2)),
      ]
    }),
  ]
}

function attemptRows(
  run: RunFacts,
  opened: Opened,
  entry: Entry,
  step: StepState | undefined,
  depth: number,
): TreeRow[] {
  const { key, subAgents } = entry
  const mark = markAttempt(run, entry)
  const isOpen = subAgents.length === 0 ? undefined : (opened.get(key) ?? mark === 'running')
  const row: TreeRow = { kind: 'attempt', key, depth, mark, isOpen, entry, step }
  if (isOpen !== true) return [row]
  return [row, ...subAgents.flatMap((each) => attemptRows(run, opened, each, step, depth + 1))]
}

function markOf(run: RunFacts, place: StepState | GroupState): Mark {
  const { isOpen, isPassed, reason, key } = place
  if (isPassed) return 'skipped'
  if (isOpen && reason === undefined) {
    if (!isActive(run)) return 'stopped'
    const isWaiting = waitsOf(run.state).some(({ scope }) => keyOfScope(scope) === key)
    return isWaiting ? 'waiting' : 'running'
  }
  if (reason === undefined) return 'pending'
  if (isComplete(reason)) return 'done'
  if (reason === 'interrupted') return 'stopped'
  return reason === 'skipped' || reason === 'cancelled' ? 'skipped' : 'failed'
}

function markAttempt(run: RunFacts, { of, to, success }: Entry): Mark {
  if (success !== undefined) return success ? 'done' : 'failed'
  if (of.outcome === undefined && of.isKilled !== true)
    return to === undefined && isActive(run) ? 'running' : 'stopped'
  if (of.outcome?.kind === 'interrupted') return 'stopped'
  return LOOKS[describeAttempt(of).look]
}

const LOOKS = { green: 'done', red: 'failed', yellow: 'refused', dim: 'ended' } as const

/** The name of a step, with its copy. */
export function stepName(state: RunState, { key, name, agent }: StepState): string {
  return branchName(state, key.split('/')) ?? name ?? agent.slice(agent.lastIndexOf('/') + 1)
}
