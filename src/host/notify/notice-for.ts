import type { NoticeKind, NotifyTarget } from '../../chain/plan/notify.ts'
import { groupPolicy, stepsOf, type Plan } from '../../chain/plan/plan.ts'
import type { OnFail } from '../../chain/plan/policy.ts'
import type { EventOf } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { stepOf, type RunState } from '../../records/events/state.ts'
import { waitsOf } from '../../records/events/waits.ts'
import { limitsOf } from '../../run/policy/budget.ts'
import { currentStep } from '../../views/runs.ts'

/** The states before and after an event. */
export interface Change {
  readonly before: RunState
  readonly after: RunState
}

type Wanted = Pick<NotifyTarget, 'on' | 'minWaitMs'>

/** What an event means for a person, if the recipient wants to know; at most one thing. */
export function noticeFor(
  { on, minWaitMs }: Wanted,
  event: RunEvent,
  { before, after }: Change,
  plan: Plan,
): NoticeKind | undefined {
  const wanted = (kind: NoticeKind, isSo: boolean) => (isSo && on.includes(kind) ? kind : undefined)
  switch (event.type) {
    case 'run_ended': {
      const isBlocked = !event.ok && currentStep(after)?.reason === 'blocked'
      // One notification is enough for both.
      if (isBlocked) return on.includes('blocked') || on.includes('end') ? 'blocked' : undefined
      return wanted('end', true)
    }
    case 'waiting': {
      const isLong = (until: string) => Date.parse(until) - Date.parse(event.at) > minWaitMs
      const isKnown = waitsOf(before).some(({ until }) => isLong(until))
      return wanted('wait', isLong(event.until) && !isKnown)
    }
    case 'step_ended':
      if (event.reason === 'blocked' && runContinues(event, after, plan))
        return wanted('blocked', true)
      break
    default:
  }
  return wanted('budget', isHalfSpent(plan, after) && !isHalfSpent(plan, before))
}

function isHalfSpent(plan: Plan, state: RunState): boolean {
  return limitsOf(undefined, plan, state, 0).some(({ used, limit }) => used > limit / 2)
}

/** Whether other steps run, or will run, although this one failed. Otherwise the end of the run is reported. */
function runContinues(event: EventOf<'step_ended'>, state: RunState, plan: Plan): boolean {
  const step = [...stepsOf(plan.root), ...plan.recoveries].find(
    ({ number }) => number === event.step,
  )
  const { jumps } = stepOf(state, event)
  const groups = event.scope.map((part) => groupPolicy(plan, part))
  return (
    state.steps.some(({ isOpen }) => isOpen) ||
    [step?.policy, ...groups].some((policy) => mayContinue(policy?.onFail, jumps))
  )
}

function mayContinue(onFail: OnFail | undefined, jumps: number): boolean {
  if (onFail === undefined || onFail.kind === 'stop') return false
  return onFail.kind !== 'goto' || jumps < onFail.times
}
