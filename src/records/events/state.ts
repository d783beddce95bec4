import type { EventBody, EventOf } from './event.ts'
import type { Lacks, Leftover, LeftInQueue, Spent, Usage } from './schema.ts'
import { addTime, addUsage, NOTHING_SPENT } from './spent.ts'
import { isComplete, isFailure, isSettled, NEW_STEP, type StepState } from './step-state.ts'

/** The state of a run after the events so far; its size depends on the chain, not on the length of the run. */
export interface RunState {
  readonly steps: readonly StepState[]
  /** Number of the running or next step; `steps.length + 1` after the last one. */
  readonly at: number
  /** Time of the last event that counts for durations, in ms. */
  readonly clock?: number | undefined
  /** `skippedMs` of that event. */
  readonly skippedMs?: number | undefined
  readonly spent: Spent
  /** Folder of the record, if there is one. */
  readonly record?: string
  readonly startedAt?: string
  readonly cwd?: string
  readonly chain?: string
  /** Secrets of the plan that the record does not contain. */
  readonly lacks?: Lacks | undefined
  readonly waiting?: EventOf<'waiting'> | undefined
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
    readonly leftovers: readonly Leftover[]
    readonly queue?: LeftInQueue | undefined
    /** How many files it changed and left uncommitted. */
    readonly uncommitted?: number | undefined
  }
}

export const NO_EVENTS: RunState = { steps: [], at: 1, spent: NOTHING_SPENT }

/** An event, with or without its stamp. */
type MaybeStamped = EventBody & { readonly at?: string; readonly skippedMs?: number | undefined }

/** The state after one more event. */
export function next(before: RunState, event: MaybeStamped): RunState {
  const state = passTime(before, event)
  switch (event.type) {
    case 'run_started':
      return begin(state, event)
    case 'run_resumed':
      return { ...resume(addWork(state, event.lostMs ?? 0)), lacks: event.lacks }
    case 'step_started':
      return noteTasks(openStep(state, event.step, event.round ?? 1), event)
    case 'iteration_started': {
      const { iteration, attempt, pid } = event
      const running = { iteration, pid }
      return change(state, event.step, { iterations: iteration, attempt, running, isAgain: false })
    }
    case 'iteration_ended':
      return noteTasks(endIteration(state, event), event)
    case 'step_ended':
      return endStep(state, event)
    case 'jump':
      return jumpTo(change(state, event.step, { jumps: event.count }), event.to)
    case 'waiting':
      return { ...state, waiting: event as EventOf<'waiting'> }
    case 'waited':
      // Tasks wait independently of the step and of each other.
      return state.waiting?.task === event.task ? { ...state, waiting: undefined } : state
    case 'run_ended': {
      const { stopped, ok, exitCode, leftovers, queue, uncommitted, at } = event
      const rest = { ok, exitCode, leftovers, queue, uncommitted, at }
      return { ...state, ended: { ...rest, stopped: stopped?.words } }
    }
    case 'phase_ended':
      return event.phase === 'setup'
        ? change(state, event.step, { isSetUp: true })
        : change(state, event.step, { notQueued: event.notQueued })
    case 'task_ended':
      return spend(state, event.step, event.usage, false)
    case 'record_lost': {
      if (event.partly === true) return state
      const { record: _, ...rest } = state
      return rest
    }
    case 'crew_started':
      return { ...state, waiting: undefined, hasCrew: true }
    case 'crew_ended':
    case 'task_started':
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
  const { record, at, cwd, chain, lacks } = event
  const steps = event.steps.map(({ step: number, ...rest }) => ({ number, ...rest, ...NEW_STEP }))
  return {
    ...state,
    steps,
    cwd,
    ...(chain === undefined ? {} : { chain }),
    ...(at === undefined ? {} : { startedAt: at }),
    ...(record === undefined ? {} : { record }),
    ...(lacks === undefined ? {} : { lacks }),
  }
}

/**
 * Steps that were skipped because the run ended run now. The step that ended the run continues with its
 * next iteration, or starts over if none is left. If the chain continued after failures, this applies to
 * the first failed step.
 */
function resume(state: RunState): RunState {
  const { ended, waiting: _, ...rest } = state
  const last = stepAt(state, state.at)
  const isStopped = last.reason === 'interrupted' || last.reason === 'skipped'
  // A run that was killed still has to handle the failure of its last step.
  if ((ended === undefined || ended.stopped !== undefined) && !isStopped) return rest
  const at = isOwn(stepAt(state, state.at)) ? state.at : firstOpen(state.steps, 1)
  const steps = state.steps.map((step) => {
    if (step.reason === 'skipped' && !step.isPassed)
      return { ...step, reason: undefined, detail: undefined }
    if (step.number !== at || isSettled(step)) return step
    const isLeft = step.isAgain || step.iterations < (step.maxIterations ?? 1)
    return {
      ...step,
      reason: undefined,
      detail: undefined,
      ends: undefined,
      idle: 0,
      isOpen: isLeft && step.rounds > 0,
    }
  })
  return { ...rest, steps, at }
}

/** Number of the first unsettled step from `from` on; the number of steps plus 1 if there is none. */
export function firstOpen(steps: readonly StepState[], from: number): number {
  const own = steps.filter(isOwn)
  const open = own.find((step) => step.number >= from && !isSettled(step))
  return open?.number ?? own.length + 1
}

/** Whether a step belongs to the chain itself, and is not a recovery or unknown. */
function isOwn({ agent, isRecovery }: StepState): boolean {
  return agent !== '' && isRecovery !== true
}

/** Only one step is open: the end of any other was lost, and its last iteration gives the reason. */
function closeOthers(state: RunState, number: number): RunState {
  const isLost = (step: StepState) => isOwn(step) && step.isOpen && step.number !== number
  if (!state.steps.some(isLost)) return state
  const steps = state.steps.map((step) =>
    isLost(step) ? { ...step, isOpen: false, running: undefined, reason: step.ends?.reason } : step,
  )
  return { ...state, steps }
}

function openStep(before: RunState, number: number, rounds: number): RunState {
  const state = isOwn(stepAt(before, number)) ? closeOthers(before, number) : before
  const known = stepAt(state, number)
  const { fingerprint, jumps, closings, spent, isSetUp, isRecovery = false } = known
  const opened = change(state, number, {
    ...NEW_STEP,
    rounds,
    isOpen: true,
    running: undefined,
    lastFailure: undefined,
    ends: undefined,
    reason: undefined,
    detail: undefined,
    isUnmarked: undefined,
    feedback: undefined,
    fingerprint,
    jumps,
    closings,
    spent,
    isSetUp,
  })
  return isRecovery ? opened : { ...opened, at: number }
}

/** More are not kept, because every checkpoint has them. */
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
  const state = hasChanged ? addFiles(before, event.changes!.files) : before
  const step = stepAt(state, event.step)
  const { outcome, ends, again = false, idle = step.idle, usage } = event
  const failed = !again && isFailure(outcome) ? 1 : 0
  return change(spend(state, event.step, usage, !again), event.step, {
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
    // A repeated iteration gets the same feedback again.
    feedback: again ? step.feedback : event.feedback,
  })
}

/** Remembers open tasks, so that their deletion is noticed, even after a resume. */
function noteTasks(
  state: RunState,
  {
    step,
    openTasks,
  }: { readonly step: number; readonly openTasks?: readonly string[] | undefined },
): RunState {
  if (openTasks === undefined) return state
  const add = (known: readonly string[] = []) => [...new Set([...known, ...openTasks])]
  const changed = change(state, step, { openTasks: add(stepAt(state, step).openTasks) })
  return { ...changed, openTasks: add(state.openTasks) }
}

/** Adds the usage of an iteration to its step and to the run. */
export function spend(
  state: RunState,
  number: number,
  usage: Usage | undefined,
  isCounted = true,
): RunState {
  const spent = addUsage(stepAt(state, number).spent, usage, isCounted)
  return {
    ...change(state, number, { spent }),
    spent: addUsage(state.spent, usage, isCounted),
  }
}

function endStep(state: RunState, event: MaybeStamped & { type: 'step_ended' }): RunState {
  const { step, reason, detail, unmarked: isUnmarked, failures, passed = false } = event
  const { isRecovery = false, closings } = stepAt(state, step)
  const isDone = isComplete(reason) || passed
  const isClosing = reason !== 'interrupted' && reason !== 'skipped' && (isRecovery || !isDone)
  const { deletedTasks, blockedTasks } = event
  const fields = {
    reason,
    detail,
    isUnmarked,
    failures,
    isOpen: false,
    isPassed: passed,
    deletedTasks,
    blockedTasks,
  }
  const changed = change(state, step, { ...fields, closings: closings + Number(isClosing) })
  const isOver = isDone && !isRecovery
  return isOver ? moveTo(changed, firstOpen(changed.steps, step + 1)) : changed
}

function moveTo(state: RunState, at: number): RunState {
  const isThere = isOwn(stepAt(state, at))
  return { ...(isThere ? change(state, at, { reason: undefined, isOpen: false }) : state), at }
}

/** That step and all later ones start over, however they ended before. */
function jumpTo(state: RunState, at: number): RunState {
  const steps = state.steps.map((step) =>
    step.number >= at && isOwn(step)
      ? { ...step, reason: undefined, isPassed: false, isOpen: false, openTasks: undefined }
      : step,
  )
  return { ...state, steps, at }
}

/** Warnings may come before `run_resumed`, and the time that they are about is in its `lostMs`. */
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

/** Adds to the time of the run and of its open step. */
export function addWork(state: RunState, ms: number): RunState {
  const step = state.steps.find(({ isOpen }) => isOpen)
  const timed = { ...state, spent: addTime(state.spent, ms) }
  return step === undefined ? timed : change(timed, step.number, { spent: addTime(step.spent, ms) })
}

/** The step of that number; an unknown one is a new step without an agent. */
export function stepAt(state: RunState, number: number): StepState {
  return state.steps[number - 1] ?? { number, agent: '', ...NEW_STEP }
}

function change(state: RunState, number: number, fields: Partial<StepState>): RunState {
  const steps = state.steps.map((step) => (step.number === number ? { ...step, ...fields } : step))
  return { ...state, steps }
}
