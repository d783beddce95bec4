import type { EventBody, EventOf } from './event.ts'
import type { Lacks, Leftover, LeftInQueue, Spent, Usage } from './schema.ts'
import { addTime, addUsage, NOTHING_SPENT } from './spent.ts'
import { isComplete, isFailure, isSettled, NEW_STEP, type StepState } from './step-state.ts'

/** What is known of a run from the events so far; its size depends on the chain, not on the run. */
export interface RunState {
  readonly steps: readonly StepState[]
  /** Number of the step that runs, or comes next; one more than there are: none. */
  readonly at: number
  /** When the last event was that time is counted by, in ms. */
  readonly clock?: number | undefined
  /** What that event says of time in which forkhestra did not run. */
  readonly skippedMs?: number | undefined
  readonly spent: Spent
  /** Folder of the record, where there is one. */
  readonly record?: string
  readonly startedAt?: string
  readonly cwd?: string
  readonly chain?: string
  /** What its record does not hold of the plan. */
  readonly lacks?: Lacks | undefined
  readonly waiting?: EventOf<'waiting'> | undefined
  /** Whether one of its iterations changed files of the repository. */
  readonly hasChangedFiles?: boolean
  /** Tasks that were open at any time while an agent built from them. */
  readonly openTasks?: readonly string[] | undefined
  /** Whether its queue was worked off without its steps. */
  readonly hasCrew?: boolean
  readonly ended?: {
    readonly at?: string | undefined
    readonly ok: boolean
    readonly exitCode: number
    /** What stopped it before its end, in words. */
    readonly stopped: string | undefined
    readonly leftovers: readonly Leftover[]
    readonly queue?: LeftInQueue | undefined
    /** How many files it changed and left uncommitted. */
    readonly uncommitted?: number | undefined
  }
}

export const NO_EVENTS: RunState = { steps: [], at: 1, spent: NOTHING_SPENT }

/** An event, with its time where it has been stamped. */
type Told = EventBody & { readonly at?: string; readonly skippedMs?: number | undefined }

/** The state after one more event. */
export function next(before: RunState, event: Told): RunState {
  const state = passTime(before, event)
  switch (event.type) {
    case 'run_started':
      return begin(state, event)
    case 'run_resumed':
      return { ...resume(state), lacks: event.lacks }
    case 'step_started':
      return seeTasks(openStep(state, event.step, event.round ?? 1), event)
    case 'iteration_started': {
      const { iteration, attempt, pid } = event
      const running = { iteration, pid }
      return change(state, event.step, { iterations: iteration, attempt, running, isAgain: false })
    }
    case 'iteration_ended':
      return seeTasks(endIteration(state, event), event)
    case 'step_ended':
      return endStep(state, event)
    case 'jump':
      return jumpTo(change(state, event.step, { jumps: event.count }), event.to)
    case 'waiting':
      return { ...state, waiting: event as EventOf<'waiting'> }
    case 'waited':
      // Tasks wait beside the step, and beside each other.
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

function begin(state: RunState, event: Told & { type: 'run_started' }): RunState {
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
 * What was skipped because the run ended is still to come. Where a step ended the run, it goes on with
 * its next iteration, or, where none is left, begins anew; so does the first that failed where the
 * chain went on after it.
 */
function resume(state: RunState): RunState {
  const { ended, waiting: _, ...rest } = state
  const last = stepAt(state, state.at)
  const isStopped = last.reason === 'interrupted' || last.reason === 'skipped'
  // Who was killed in the middle has still to do what follows from a failure.
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

/** Number of the first step from here on that is not settled; one more than there are: none. */
export function firstOpen(steps: readonly StepState[], from: number): number {
  const own = steps.filter(isOwn)
  const open = own.find((step) => step.number >= from && !isSettled(step))
  return open?.number ?? own.length + 1
}

/** Whether it is one of the chain's own steps. */
function isOwn({ agent, isRecovery }: StepState): boolean {
  return agent !== '' && isRecovery !== true
}

/** A step is open alone; where the end of another one was lost, its last iteration tells it. */
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

function endIteration(before: RunState, event: Told & { type: 'iteration_ended' }): RunState {
  const hasChanged = (event.changes?.fileCount ?? 0) > 0
  const state = hasChanged ? { ...before, hasChangedFiles: true } : before
  const step = stepAt(state, event.step)
  const { outcome, ends, again = false, idle = step.idle, usage } = event
  const failed = !again && isFailure(outcome) ? 1 : 0
  return change(spend(state, event.step, usage, !again), event.step, {
    lastOutcome: outcome,
    ...(failed > 0 ? { lastFailure: outcome } : {}),
    running: undefined,
    isAgain: again,
    hasChangedTasks: step.hasChangedTasks || event.changedTasks === true,
    failures: step.failures + failed,
    ends,
    idle,
    fingerprint: event.fingerprint ?? step.fingerprint,
    // What a gate said is said again where the iteration comes again.
    feedback: again ? step.feedback : event.feedback,
  })
}

/** A task that was open and is gone later is missed, also by a process that resumes the run. */
function seeTasks(
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

/** The state after an iteration of a step has taken this. */
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

function endStep(state: RunState, event: Told & { type: 'step_ended' }): RunState {
  const { step, reason, detail, unmarked: isUnmarked, failures, passed = false } = event
  const { isRecovery = false, closings } = stepAt(state, step)
  const isDone = isComplete(reason) || passed
  const isClosing = reason !== 'interrupted' && reason !== 'skipped' && (isRecovery || !isDone)
  const { deletedTasks } = event
  const fields = {
    reason,
    detail,
    isUnmarked,
    failures,
    isOpen: false,
    isPassed: passed,
    deletedTasks,
  }
  const changed = change(state, step, { ...fields, closings: closings + Number(isClosing) })
  const isBehind = isDone && !isRecovery
  return isBehind ? comeTo(changed, firstOpen(changed.steps, step + 1)) : changed
}

function comeTo(state: RunState, at: number): RunState {
  const isThere = isOwn(stepAt(state, at))
  return { ...(isThere ? change(state, at, { reason: undefined, isOpen: false }) : state), at }
}

/** From that step on all begin anew, however they ended before. */
function jumpTo(state: RunState, at: number): RunState {
  const steps = state.steps.map((step) =>
    step.number >= at && isOwn(step)
      ? { ...step, reason: undefined, isPassed: false, isOpen: false, openTasks: undefined }
      : step,
  )
  return { ...state, steps, at }
}

/** Adds the time since the last event that time is counted by. */
function passTime(state: RunState, { type, at, skippedMs = 0 }: Told): RunState {
  if (at === undefined || type === 'message' || type === 'tool' || type === 'output') return state
  const clock = timeOf(at)
  if (type === 'run_resumed' || type === 'crew_started' || state.clock === undefined)
    return { ...state, clock, skippedMs }
  const { skippedMs: before = 0 } = state
  const ms = Math.max(0, clock - skippedMs - (state.clock - before))
  const step = state.steps.find(({ isOpen }) => isOpen)
  const timed = { ...state, clock, skippedMs, spent: addTime(state.spent, ms) }
  return step === undefined ? timed : change(timed, step.number, { spent: addTime(step.spent, ms) })
}

let [lastText, lastTime] = ['', NaN]

/** What happens in the same moment has the same text, and is told to several who keep a state. */
function timeOf(text: string): number {
  if (text !== lastText) [lastText, lastTime] = [text, Date.parse(text)]
  return lastTime
}

/** The step of that number; one that nobody announced has done nothing. */
export function stepAt(state: RunState, number: number): StepState {
  return state.steps[number - 1] ?? { number, agent: '', ...NEW_STEP }
}

function change(state: RunState, number: number, fields: Partial<StepState>): RunState {
  const steps = state.steps.map((step) => (step.number === number ? { ...step, ...fields } : step))
  return { ...state, steps }
}
