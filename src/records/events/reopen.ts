import {
  changeGroup,
  currentSteps,
  firstOpen,
  groupAt,
  isOwn,
  itemsOf,
  moveTo,
  positionIn,
  type RunState,
} from './state.ts'
import type { Reason } from './schema.ts'
import { isSettled, type StepState } from './step-state.ts'

/**
 * The state with which a run is resumed. Steps that were skipped because the run ended run now. A step
 * that ended the run continues with its next iteration, or starts over if none is left. If a list
 * continued after failures, this applies to its first failed item.
 */
export function reopen(state: RunState): RunState {
  const { ended, waiting: _, alsoWaiting: __, ...rest } = state
  // A killed run still has to handle the failure of its last step.
  if ((ended === undefined || ended.isUnhandled === true) && !isStopped(state)) return rest
  const steps = rest.steps.map((step) =>
    step.reason === 'skipped' && !step.isPassed
      ? { ...step, reason: undefined, detail: undefined }
      : step,
  )
  return reopenList({ ...rest, steps }, '')
}

function isStopped(state: RunState): boolean {
  return currentSteps(state).some(
    ({ reason, isPassed }) => reason === 'interrupted' || (reason === 'skipped' && !isPassed),
  )
}

/** Whether all alternatives of a fallback have failed, rather than that the current one was stopped. */
function hasFailed(state: RunState, list: string): boolean {
  return currentSteps(state, list).every(({ reason }) => reason !== undefined && !isStop(reason))
}

function reopenList(state: RunState, list: string): RunState {
  const items = itemsOf(state, list)
  if (groupAt(state, list)?.kind === 'parallel')
    return items.reduce((each, { first }) => reopenItem(each, list, first), state)
  if (groupAt(state, list)?.kind === 'fallback' && hasFailed(state, list))
    return moveTo(reopenItem(state, list, items[0]!.first), list, items[0]!.first)
  const isKnown = items.some(({ first }) => first === positionIn(state, list))
  const at = isKnown ? positionIn(state, list) : firstOpen(state, list, 1)
  return moveTo(reopenItem(state, list, at), list, at)
}

/** Reopens the unsettled instances of an item. */
function reopenItem(state: RunState, list: string, first: number): RunState {
  const steps = state.steps.map((step) =>
    step.list === list && step.number === first && isOwn(step) && !isSettled(step)
      ? reopenStep(step)
      : step,
  )
  const unsettled = (state.groups ?? []).filter(
    (group) => group.list === list && group.first === first && !isSettled(group),
  )
  return unsettled.reduce(
    (each, { key, kind, round, isOpen, reason }) => {
      // After its last round, a group gets as many new ones.
      const isOver = !isOpen && (round === 0 || reason === 'max_iterations')
      const fields = { reason: undefined, detail: undefined, isOpen: !isOver }
      if (isOver) return changeGroup(each, key, { ...fields, usedRounds: round })
      const opened = changeGroup(each, key, fields)
      // It was stopped between two alternatives, and continues with the next one.
      const isBetween = isOpen && kind === 'fallback' && hasFailed(opened, key)
      return isBetween ? opened : reopenList(opened, key)
    },
    { ...state, steps } as RunState,
  )
}

function reopenStep(step: StepState): StepState {
  // It was over, but the run was stopped before it could be merged or reported.
  const ends = isStop(step.reason) && !isStop(step.ends?.reason) ? step.ends : undefined
  const isCutOff = step.isAgain || step.running !== undefined || step.handsIn === true
  const isLeft = isCutOff || ends !== undefined || step.iterations < (step.maxIterations ?? 1)
  return {
    ...step,
    reason: undefined,
    detail: undefined,
    ends,
    idle: 0,
    isOpen: isLeft && step.rounds > (step.earlierRounds ?? 0),
  }
}

function isStop(reason: Reason | undefined): boolean {
  return reason === 'interrupted' || reason === 'cancelled'
}
