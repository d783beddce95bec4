import type { NoticeKind, NotifyTarget } from '../../chain/plan/notify.ts'
import { groupPolicy, stepsOf, type Plan } from '../../chain/plan/plan.ts'
import type { EventOf } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import type { RunState } from '../../records/events/state.ts'
import { groupIdOf, groupKeys } from '../../records/events/tree.ts'
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
function runContinues({ step: number }: EventOf<'step_ended'>, { steps }: RunState, plan: Plan) {
  const step = [...stepsOf(plan.root), ...plan.recoveries].find((each) => each.number === number)
  if (step === undefined) return false
  const groups = groupKeys(step).map((key) => groupPolicy(plan, groupIdOf(key)))
  const policies = [step.policy, ...groups]
  return (
    steps.some(({ isOpen }) => isOpen) ||
    policies.some((policy) => policy !== undefined && policy.onFail.kind !== 'stop')
  )
}
