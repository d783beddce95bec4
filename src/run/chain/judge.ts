import { describeOutcome } from '../../records/events/describe-outcome.ts'
import type { End, Outcome, Refusal } from '../../records/events/schema.ts'
import { isFailure } from '../../records/events/step-state.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { TurnResult } from '../agent/follow-agent.ts'
import { runCommand } from '../policy/command.ts'
import type { Judged } from '../progress/progress-watch.ts'
import type { Context } from '../context.ts'
import { askGates, endWithout } from '../policy/gates.ts'
import type { Patience, Pause } from '../policy/patience.ts'
import type { Place } from '../place.ts'
import { interrupted } from '../ports.ts'
import { taskEnd, waitsForBranches } from '../policy/task-check.ts'

/** What the outcome of an iteration means for its step. */
export interface Judgement extends Judged {
  /** Why the marker was refused. */
  readonly refusal?: Refusal | undefined
  /** Set if this iteration ends the step. */
  readonly ends?: End | undefined
  readonly pause?: Pause
}

/** The iteration that is judged. */
interface Case {
  readonly step: StepNode
  readonly place: Place
  readonly patience: Patience
  readonly context: Context
}

/** Decides what the outcome of an iteration means; a marker has to pass the gates. */
export async function judge(
  turned: Pick<TurnResult, 'outcome' | 'unmarked' | 'refusal'>,
  of: Case,
): Promise<Judgement> {
  const { outcome, refusal } = turned
  const isOnce = of.step.loop === undefined
  const isDone =
    outcome.kind === 'marker' || (isOnce && outcome.kind === 'exited' && !isFailure(outcome))
  if (!isDone) return decide({ outcome, refusal }, of)
  const passed = await passGates({ outcome, refusal }, of)
  if (passed.isAgain === true) return passed
  if (passed.ends !== undefined) return { ...passed, outcome: turned.unmarked }
  if (passed.gate?.isOpen === true) {
    const left = await taskEnd(of.step, of.context.ports)
    if (left?.reason === 'blocked') return { ...passed, ends: left }
    const isLast = isOnce || of.place.iteration >= of.step.loop
    if (!isLast && (await waitsForBranches(of.step, of.context.ports))) return passed
    const held = left?.cause === 'tasks_held' ? left : {}
    return { ...passed, ends: { ...held, reason: isOnce ? 'single_run' : 'marker' } }
  }
  const refused = { ...passed, outcome: turned.unmarked }
  if (!isOnce) return decide(refused, of)
  const { detail, cause } = passed.gate ?? {}
  return { ...refused, refusal, ends: { reason: 'gate_failed', detail, cause } }
}

/** Adds the result of the gates; if they cannot run, the step ends. */
async function passGates(seen: Judgement, { step, place, context }: Case): Promise<Judgement> {
  const { ends, ...answer } = await askGates(step, place.iteration, context)
  return ends === undefined ? { ...seen, ...answer } : endWith(ends, seen)
}

/** If the run was stopped before the iteration could be judged, a resume repeats it. */
function endWith(ends: End, seen: Judgement): Judgement {
  if (ends.reason !== 'interrupted' && ends.reason !== 'cancelled') return { ...seen, ends }
  return { ...seen, outcome: { kind: 'interrupted' }, isAgain: true, ends }
}

/** Judges an outcome without an accepted marker. */
async function decide(seen: Judgement, of: Case): Promise<Judgement> {
  const { outcome } = seen
  const next = of.patience.after(outcome)
  if (next !== undefined) {
    return { ...seen, isAgain: true, ...('reason' in next ? { ends: next } : { pause: next }) }
  }
  switch (outcome.kind) {
    case 'interrupted':
      return endWith(interrupted(of.context.ports.stop), seen)
    case 'spawn_failed':
      return { ...seen, isAgain: true, ends: { reason: 'error', detail: outcome.error } }
    case 'auth_failed':
      // Authentication failures are not retried.
      return { ...seen, isAgain: true, ends: { reason: 'auth', detail: outcome.error } }
    case 'blocked':
      return { ...seen, ends: { reason: 'blocked', detail: outcome.reason } }
    case 'budget': {
      // The agent reports its share; the user set the whole budget.
      const { spending } = of.context
      const isOurs = of.step.agent.engine !== 'binary' && outcome.limit === 'cost'
      const known = isOurs ? spending.spentMoney(of.step) : undefined
      if (known !== undefined && spending.hasMore(of.place))
        return of.step.loop === undefined ? { ...seen, isAgain: true } : continueLoop(seen, of)
      const ends = { reason: 'budget' as const, detail: describeOutcome(outcome) }
      return { ...seen, ends: known ?? { ...ends, cause: outcome.limit } }
    }
    default: {
      const early = await continueLoop(seen, of)
      const isOver = early.ends !== undefined || of.step.loop !== undefined
      return isOver ? early : { ...early, ends: endOnce(outcome) }
    }
  }
}

/** Unless the step turns out to be done. */
async function continueLoop(seen: Judgement, of: Case): Promise<Judgement> {
  return (await askUntil(seen, of)) ?? (await finishTasks(seen, of))
}

/** The end of the step if its `until` command succeeds, or cannot be run. */
async function askUntil(
  seen: Judgement,
  { step, place: { iteration }, context }: Case,
): Promise<Judgement | undefined> {
  const { until: command } = step.policy
  if (command === undefined) return undefined
  const answer = await runCommand({ role: 'until', command, step, iteration }, context)
  if (answer.result === 'ok') return { ...seen, ends: { reason: 'until', detail: command } }
  const ends = endWithout(answer, 'until', command, context)
  return ends && endWith(ends, seen)
}

/** Ends a step that builds from tasks after its last task, if the gates agree. */
async function finishTasks(seen: Judgement, of: Case): Promise<Judgement> {
  const { step, context } = of
  const ends = isFailure(seen.outcome) ? undefined : await taskEnd(step, context.ports)
  if (ends?.reason !== 'until' || step.policy.verify.length === 0) return { ...seen, ends }
  // The gates have already run and failed.
  if (seen.gate !== undefined) return seen
  const passed = await passGates(seen, of)
  // Without a marker there is nothing to refuse.
  const judged = { ...passed, refusal: seen.refusal }
  return passed.gate?.isOpen === true ? { ...judged, ends } : judged
}

/** The end of a step that runs once. */
function endOnce(outcome: Outcome): End {
  const isLate = outcome.kind === 'timed_out' || outcome.kind === 'idle'
  return { reason: isLate ? 'timeout' : 'agent_failed', detail: describeOutcome(outcome) }
}
