import { dropUndefined } from '../../base/objects.ts'
import { branchAround, changeBranch } from './branch-state.ts'
import type { EventBody, EventOf } from './event.ts'
import { NEW_GROUP } from './group-state.ts'
import { reopen } from './reopen.ts'
import type { End } from './schema.ts'
import {
  addWork,
  changeGroup,
  changeStep,
  firstOpen,
  groupAt,
  isEverythingSettled,
  isOwn,
  itemsOf,
  moveTo,
  spend,
  stepOf,
  type RunState,
} from './state.ts'
import { isComplete, isFailure, NEW_STEP, type StepState } from './step-state.ts'
import { expandTree, isInside, keyOfScope, type PlacedEvent } from './tree.ts'
import { addWait, endWait } from './waits.ts'

/** An event, with or without its stamp. */
type MaybeStamped = EventBody & { readonly at?: string; readonly skippedMs?: number | undefined }

/** The state after one more event. */
export function next(before: RunState, event: MaybeStamped): RunState {
  const state = passTime(before, event)
  switch (event.type) {
    case 'run_started':
      return begin(state, event)
    case 'run_resumed':
      return {
        ...reopen(addWork(state, event.lostMs ?? 0)),
        lacks: event.lacks,
        ...mostAtOnce(event.plan),
      }
    case 'group_started':
      return openGroup(state, event)
    case 'group_ended':
      return endGroup(state, event)
    case 'branch_started': {
      const { scope, branch, path, base, into } = event
      const { branches = [] } = state
      // A kept branch continues under its name.
      const known = branches.find((each) => each.branch === branch)
      const begun = { ...known, scope, branch, path, base, into, isOpen: true, kept: undefined }
      return { ...state, branches: [...branches.filter((each) => each !== known), begun] }
    }
    case 'merge_moving': {
      const { into, from, to, merges, copies } = event
      // Without branches, only work that was already merged has moved.
      const others = (state.moving ?? []).filter((each) => each.merges.length > 0)
      return { ...state, moving: [...others, { into, from, to, merges, copies }] }
    }
    case 'merge_ended':
      return endMerge(state, event)
    case 'branch_ended':
      return changeBranch(state, event.branch, {
        isOpen: false,
        kept: event.kept,
        hasCommits: event.hasCommits,
        path: event.path,
      })
    case 'step_started':
      return noteTasks(openStep(state, event), event)
    case 'iteration_started': {
      const { iteration, attempt, pid } = event
      const running = { iteration, pid }
      const begun = { iterations: iteration, attempt, running }
      const fields = { ...begun, isAgain: false, awaitsTask: undefined }
      return changeStep(state, stepOf(state, event), fields)
    }
    case 'awaiting_task':
      return changeStep(state, stepOf(state, event), { awaitsTask: true })
    case 'iteration_ended':
      return noteTasks(endIteration(state, event), event)
    case 'step_ended':
      return endStep(state, event)
    case 'jump':
      return jump(state, event)
    case 'waiting':
      return addWait(state, event as EventOf<'waiting'>)
    case 'waited':
      return endWait(state, event)
    case 'run_ended': {
      const { stopped, ok, exitCode, leftovers, queue, uncommitted, aside, at } = event
      // Not written by the run, or its steps are lost, so the steps decide whether it is complete.
      if (ok && !isEverythingSettled(state)) return state
      const isUnhandled = event.unhandled
      const rest = { ok, exitCode, leftovers, queue, uncommitted, aside, at, isUnhandled }
      return { ...state, ended: { ...rest, stopped: stopped?.words } }
    }
    case 'phase_ended':
      return changeStep(
        state,
        stepOf(state, event),
        event.phase === 'setup' ? { isSetUp: true } : { notQueued: event.notQueued },
      )
    case 'task_ended':
      return spend(state, stepOf(state, event), event.usage, false)
    case 'record_lost': {
      if (event.partly === true) return state
      const { record: _, ...rest } = state
      return rest
    }
    case 'crew_started':
      return { ...state, waiting: undefined, alsoWaiting: undefined, hasCrew: true }
    case 'merge_started':
    case 'crew_ended':
    case 'task_started':
    case 'claimed':
    case 'command_started':
    case 'command':
    case 'message':
    case 'tool':
    case 'tool_ended':
    case 'limit':
    case 'dry_run':
    case 'run_refused':
    case 'marker_refused':
    case 'output':
    case 'warning':
      return state
    default:
      // A journal may have been written by a later version.
      event satisfies never
      return state
  }
}

function begin(state: RunState, event: MaybeStamped & { type: 'run_started' }): RunState {
  const { record, at, cwd, chain, outerRun, lacks } = event
  const { steps, groups } = expandTree(event)
  return {
    ...state,
    steps: steps.map(({ step: number, ...rest }) => ({ number, ...rest, ...NEW_STEP })),
    ...(groups.length === 0
      ? {}
      : { groups: groups.map((group) => ({ ...group, ...NEW_GROUP, at: group.first })) }),
    cwd,
    ...dropUndefined({ chain, startedAt: at, record, outerRun, lacks }),
    ...mostAtOnce(event.plan),
  }
}

function mostAtOnce({ maxParallel }: Readonly<Record<string, unknown>> = {}) {
  return typeof maxParallel === 'number' ? { maxParallel } : {}
}

/** Work that could not be merged goes back to the step that handed it in, if it has an iteration left. */
function endMerge(state: RunState, event: MaybeStamped & { type: 'merge_ended' }): RunState {
  const { branch, result, tip, commit, copies, scope, detail, cause, feedback } = event
  const { commits: before = 0 } = state.branches?.find((each) => each.branch === branch) ?? {}
  const commits = before + (event.commits ?? copies?.length ?? 0)
  const merged = commit === undefined ? {} : { merged: { tip, commit }, commits }
  const lastMerge = event as EventOf<'merge_ended'>
  const changed = changeBranch(state, branch, { ...merged, lastMerge })
  const moving = (state.moving ?? []).filter(
    ({ merges }) => !merges.some((each) => each.branch === branch && each.tip === tip),
  )
  const steps = state.steps.map((step) => {
    const isHere = step.key === keyOfScope(scope) || isInside(step, keyOfScope(scope))
    if (!isHere || step.handsIn !== true) return step
    if (result === 'merged') return { ...step, handsIn: undefined, feedback: undefined }
    const isLeft = result !== 'error' && step.iterations < (step.maxIterations ?? 1)
    if (isLeft && isFinal(step.ends)) return { ...step, handsIn: undefined, feedback }
    const ends = isLeft ? undefined : { reason: result, ...dropUndefined({ detail, cause }) }
    return { ...step, handsIn: undefined, ends, feedback }
  })
  return { ...changed, steps, moving }
}

/** Whether a step ends even if its work is sent back: not if it was complete, or found no other task. */
function isFinal(ends: End | undefined): boolean {
  if (ends === undefined || isComplete(ends.reason)) return false
  return ends.reason !== 'blocked' || ends.cause === undefined
}

/** Starts a round of a group; everything in it starts over. */
function openGroup(state: RunState, event: MaybeStamped & { type: 'group_started' }): RunState {
  const { scope, round } = event
  const group = groupAt(state, keyOfScope(scope))
  if (group === undefined) return state
  const { key, list, first, usedRounds } = group
  const inside = clearInside(state, key)
  const fields = { round, usedRounds, isOpen: true, isPassed: false, at: first }
  const opened = changeGroup(inside, key, { ...fields, reason: undefined, detail: undefined })
  return moveTo(opened, list, first)
}

/** Resets the steps and groups inside a group, except for what they have spent. */
function clearInside(state: RunState, key: string): RunState {
  const { steps, groups = [] } = state
  return {
    ...state,
    steps: steps.map((step) => (isInside(step, key) ? clearStep(step) : step)),
    groups: groups.map((group) =>
      isInside(group, key)
        ? { ...group, ...NEW_GROUP, at: group.first, reason: undefined, spent: group.spent }
        : group,
    ),
  }
}

function clearStep(step: StepState): StepState {
  const { spent, fingerprint, rounds } = step
  const kept = { spent, fingerprint, rounds, earlierRounds: rounds }
  return { ...step, ...CLEARED, ...NEW_STEP, ...kept }
}

/** The optional fields of a step that has not started in this round. */
const CLEARED = {
  running: undefined,
  lastFailure: undefined,
  ends: undefined,
  reason: undefined,
  detail: undefined,
  cause: undefined,
  isUnmarked: undefined,
  feedback: undefined,
  handsIn: undefined,
  awaitsTask: undefined,
}

function endGroup(state: RunState, event: MaybeStamped & { type: 'group_ended' }): RunState {
  const { scope, reason, detail, passed = false } = event
  const group = groupAt(state, keyOfScope(scope))
  if (group === undefined) return state
  const isDone = isComplete(reason) || passed
  const isClosing = !isDone && reason !== 'interrupted' && reason !== 'skipped'
  const closings = group.closings + Number(isClosing)
  const ended = { reason, detail, isOpen: false, isPassed: passed, closings }
  const changed = changeGroup(state, group.key, ended)
  return isDone ? moveOn(changed, group.list, group.first) : changed
}

/**
 * Only one step of a list can be open: the end of any other was lost, so its last iteration gives the reason.
 */
function closeOthers(state: RunState, { list, number }: StepState): RunState {
  if (groupAt(state, list)?.kind === 'parallel') return state
  const isLost = (step: StepState) =>
    step.list === list && isOwn(step) && step.isOpen && step.number !== number
  if (!state.steps.some(isLost)) return state
  const steps = state.steps.map((step) =>
    isLost(step) ? { ...step, isOpen: false, running: undefined, reason: step.ends?.reason } : step,
  )
  return { ...state, steps }
}

function openStep(before: RunState, event: MaybeStamped & { type: 'step_started' }): RunState {
  const known = stepOf(before, event)
  const state = isOwn(known) ? closeOthers(before, known) : before
  const { fingerprint, jumps, closings, spent, isSetUp, isRecovery = false } = known
  const opened = changeStep(state, known, {
    ...CLEARED,
    ...NEW_STEP,
    rounds: event.round ?? 1,
    isOpen: true,
    fingerprint,
    jumps,
    closings,
    spent,
    isSetUp,
  })
  return isRecovery ? opened : moveTo(opened, known.list, known.number)
}

/** Limited, because every checkpoint contains them. */
const MOST_FILES = 1000

function addFiles(state: RunState, files: readonly string[]): RunState {
  const all = new Set([...(state.changedFiles ?? []), ...files])
  return { ...state, hasChangedFiles: true, changedFiles: [...all].slice(0, MOST_FILES) }
}

function endIteration(
  before: RunState,
  event: MaybeStamped & { type: 'iteration_ended' },
): RunState {
  const hasChanged = (event.changes?.fileCount ?? 0) > 0
  const changed = hasChanged ? addFiles(before, event.changes!.files) : before
  const branch = event.tip === undefined ? undefined : branchAround(changed, event.scope)
  const state = branch ? changeBranch(changed, branch.branch, { tip: event.tip }) : changed
  const step = stepOf(state, event)
  const { outcome, ends, again = false, idle = step.idle, usage } = event
  const failed = !again && isFailure(outcome) ? 1 : 0
  return changeStep(spend(state, step, usage, !again), step, {
    lastOutcome: outcome,
    lastExitCode: outcome.kind === 'exited' ? outcome.code : event.exitCode,
    ...(failed > 0 ? { lastFailure: outcome } : {}),
    running: undefined,
    isAgain: again,
    hasChangedTasks: step.hasChangedTasks || event.changedTasks === true,
    failures: step.failures + failed,
    ends,
    idle,
    fingerprint: event.fingerprint ?? step.fingerprint,
    handsIn: event.handsIn,
    // A repeated iteration gets the same feedback again.
    feedback: again ? step.feedback : event.feedback,
  })
}

/** Remembers open tasks, so that their deletion is noticed, even after a resume. */
function noteTasks(
  state: RunState,
  event: PlacedEvent & { readonly openTasks?: readonly string[] | undefined },
): RunState {
  const { openTasks } = event
  if (openTasks === undefined) return state
  const add = (known: readonly string[] = []) => [...new Set([...known, ...openTasks])]
  const step = stepOf(state, event)
  const changed = changeStep(state, step, { openTasks: add(step.openTasks) })
  return { ...changed, openTasks: add(state.openTasks) }
}

function endStep(state: RunState, event: MaybeStamped & { type: 'step_ended' }): RunState {
  const { reason, detail, cause, unmarked: isUnmarked, failures, passed = false } = event
  const step = stepOf(state, event)
  const { isRecovery = false, closings } = step
  const isDone = isComplete(reason) || passed
  const isClosing = reason !== 'interrupted' && reason !== 'skipped' && (isRecovery || !isDone)
  const { deletedTasks, blockedTasks } = event
  const fields = {
    reason,
    detail,
    cause,
    isUnmarked,
    failures,
    isOpen: false,
    isPassed: passed,
    awaitsTask: undefined,
    deletedTasks,
    blockedTasks,
  }
  const changed = changeStep(state, step, { ...fields, closings: closings + Number(isClosing) })
  return isDone && !isRecovery ? moveOn(changed, step.list, step.number) : changed
}

/** Moves a list from a settled item to the next unsettled one, which starts over. */
function moveOn(state: RunState, list: string, from: number): RunState {
  if (groupAt(state, list)?.kind === 'parallel') return state
  const item = itemsOf(state, list).find(({ first }) => first === from)
  if (item?.isSettled !== true) return state
  const at = firstOpen(state, list, item.last + 1)
  const isNext = (step: StepState) => step.list === list && step.number === at && isOwn(step)
  const steps = state.steps.map((step) =>
    isNext(step) ? { ...step, reason: undefined, isOpen: false } : step,
  )
  return moveTo({ ...state, steps }, list, at)
}

/** The target and everything after it in its list start over, however they ended before. */
function jump(state: RunState, event: MaybeStamped & { type: 'jump' }): RunState {
  const { scope, group: id, count, to } = event
  const key = keyOfScope(scope)
  const from = id === undefined ? stepOf(state, event) : groupAt(state, key)
  if (from === undefined) return state
  const { list } = from
  const counted =
    id === undefined
      ? changeStep(state, stepOf(state, event), { jumps: count })
      : changeGroup(state, key, { jumps: count })
  const steps = counted.steps.map((step) =>
    step.number >= to && isInside(step, list) && isOwn(step)
      ? { ...step, reason: undefined, isPassed: false, isOpen: false, openTasks: undefined }
      : step,
  )
  const groups = counted.groups?.map((group) =>
    group.first >= to && isInside(group, list)
      ? { ...group, reason: undefined, isPassed: false, isOpen: false, usedRounds: group.round }
      : group,
  )
  return moveTo({ ...counted, steps, ...(groups === undefined ? {} : { groups }) }, list, to)
}

/** Warnings may come before `run_resumed`, whose `lostMs` already covers their time. */
const WITHOUT_TIME: readonly string[] = ['message', 'tool', 'output', 'warning']

/** Adds the time since the last event that counts for durations. */
function passTime(state: RunState, { type, at, skippedMs = 0 }: MaybeStamped): RunState {
  if (at === undefined || WITHOUT_TIME.includes(type)) return state
  const clock = Date.parse(at)
  if (type === 'run_resumed' || type === 'crew_started' || state.clock === undefined)
    return { ...state, clock, skippedMs }
  const { skippedMs: before = 0 } = state
  const ms = Math.max(0, clock - skippedMs - (state.clock - before))
  return addWork({ ...state, clock, skippedMs }, ms)
}
