import { awakeMs } from '../base/awake.ts'
import type { End, Usage } from '../events/schema.ts'
import { spend, stepAt } from '../events/state.ts'
import { isFailure } from '../events/step-state.ts'
import type { StepNode } from '../plan/plan.ts'
import { takeTurn } from './agent-turn.ts'
import { hasBudget, spentBudget } from './budget.ts'
import type { Context } from './context.ts'
import { runHooks } from './hooks.ts'
import { judge, type Judgement } from './judge.ts'
import type { Patience, Pause } from './patience.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'
import { newlyOpen, stillReady } from './task-check.ts'
import { stalledEnd, type Made } from './progress-watch.ts'

/** Starts the agent once with a fresh context, judges what came of it, and tells all of it. */
export async function runIteration(
  step: StepNode,
  place: Place,
  patience: Patience,
  context: Context,
): Promise<Pause | undefined> {
  const { ports, progress, spending } = context
  const before = await progress.begin(step)
  // Asked only where it matters: every file of a task is looked at.
  const printTasks = () => (step.goesOnWithTasks === true ? ports.tasks.fingerprint() : '')
  const tasksBefore = printTasks()
  const began = awakeMs()
  const turned = await takeTurn(step, place, context)
  const ms = Math.round(awakeMs() - began)
  const tasks = ports.tasks.endIteration(step.number, place.iteration, turned.outcome.kind)
  const hasChangedTasks = printTasks() !== tasksBefore
  const { iteration } = place
  const judged = await judge(turned, { step, iteration, patience, context })
  const { outcome, refusal, feedback, pause, isAgain = false } = judged
  if (refusal !== undefined) ports.emit({ type: 'marker_refused', ...place, why: refusal })
  const made = await progress.measure(step, judged, before)
  const ends =
    judged.ends ??
    (isAgain
      ? undefined
      : endByCount(step, place, judged, { ...made, hasChangedTasks }, turned.usage, context))
  const { outputBytes, usage } = turned
  const event = ports.emit({
    type: 'iteration_ended',
    ...place,
    outcome,
    ms,
    outputBytes,
    ...(usage === undefined ? {} : { usage }),
    ...(isAgain ? { again: true } : {}),
    ...(ends === undefined ? {} : { ends }),
    ...made,
    ...(tasks.length === 0 ? {} : { tasks: [...tasks] }),
    ...(hasChangedTasks ? { changedTasks: true } : {}),
    ...newlyOpen(step, ports),
    ...(feedback === undefined ? {} : { feedback }),
  })
  spending.told(place.scope)
  if (!ports.stop.aborted) await runHooks('afterIteration', event, step, context)
  return pause
}

/** Whether a loop that could go on may: its iterations, its budget, its progress. */
function endByCount(
  step: StepNode,
  { iteration }: Place,
  judged: Judgement,
  { idle = 0, fingerprint, hasChangedTasks }: Made & { readonly hasChangedTasks: boolean },
  usage: Usage | undefined,
  { plan, ports }: Context,
): End | undefined {
  const { stall } = step.policy
  const handedOver = () => handOver(step, judged, iteration, hasChangedTasks, ports)
  if (iteration >= (step.loop ?? 1)) return usedUp(step, judged, ports, handedOver)
  const broke = hasBudget(step, plan)
    ? spentBudget(step, plan, spend(ports.state(), step.number, usage))
    : undefined
  if (broke !== undefined) return broke
  if (stall === 0 || idle < stall) return undefined
  return handedOver() ?? stalledEnd(idle, judged, fingerprint)
}

/** No iteration is left. */
function usedUp(
  step: StepNode,
  { gate }: Judgement,
  ports: Ports,
  handedOver: () => End | undefined,
): End {
  if (gate?.isOpen === false) return { reason: 'gate_failed', detail: gate.detail }
  const detail = stillReady(step, ports)
  const usual = { reason: 'max_iterations' as const, ...(detail === undefined ? {} : { detail }) }
  return handedOver() ?? usual
}

/** A planner that does not say when it is done leaves its tasks to the builder, unless it only failed. */
function handOver(
  step: StepNode,
  { outcome, gate }: Judgement,
  iteration: number,
  hasChangedTasks: boolean,
  ports: Ports,
): End | undefined {
  if (step.goesOnWithTasks !== true || gate?.isOpen === false) return undefined
  const { failures, hasChangedTasks: hadBefore } = stepAt(ports.state(), step.number)
  if (isFailure(outcome) && failures >= iteration - 1) return undefined
  if (!hasChangedTasks && !hadBefore) return undefined
  const { open } = ports.tasks.count()
  if (open === 0) return undefined
  return { reason: 'until', unmarked: true, detail: `there are tasks to do (${open})` }
}
