import { awakeMs } from '../../base/awake.ts'
import type { End, Usage } from '../../records/events/schema.ts'
import { spend, stepAt } from '../../records/events/state.ts'
import { isFailure } from '../../records/events/step-state.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { takeTurn } from '../agent/agent-turn.ts'
import { hasBudget, spentBudget } from './budget.ts'
import type { Context, Judgement, Measured } from './context.ts'
import { runHooks } from './hooks.ts'
import { judge } from './judge.ts'
import type { Patience, Pause } from './patience.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'
import { newlyOpen, stillReady } from './task-check.ts'
import { stalledEnd } from '../progress/progress-watch.ts'

/** Runs the agent once with a fresh context, judges its outcome and emits the events. */
export async function runIteration(
  step: StepNode,
  place: Place,
  patience: Patience,
  context: Context,
): Promise<Pause | undefined> {
  const { ports, progress, spending } = context
  const before = await progress.begin(step)
  // Only if needed: it reads every task file.
  const printTasks = async () => (step.goesOnWithTasks === true ? ports.tasks.fingerprint() : '')
  const tasksBefore = await printTasks()
  const began = awakeMs()
  const turned = await takeTurn(step, place, context)
  const ms = Math.round(awakeMs() - began)
  const tasks = await ports.tasks.endIteration(step.number, place.iteration, turned.outcome.kind)
  const hasChangedTasks = (await printTasks()) !== tasksBefore
  const judged = await judge(turned, { step, place, patience, context })
  const { outcome, refusal, feedback, pause, isAgain = false } = judged
  if (refusal !== undefined) ports.emit({ type: 'marker_refused', ...place, why: refusal })
  const measured = await progress.measure(step, judged, before)
  const ends =
    judged.ends ??
    (isAgain
      ? undefined
      : await endByCount(
          step,
          place,
          judged,
          { ...measured, hasChangedTasks },
          turned.usage,
          context,
        ))
  const { exitCode, outputBytes, usage } = turned
  const event = ports.emit({
    type: 'iteration_ended',
    ...place,
    outcome,
    ...(exitCode === undefined || outcome.kind === 'exited' ? {} : { exitCode }),
    ms,
    outputBytes,
    ...(usage === undefined ? {} : { usage }),
    ...(isAgain ? { again: true } : {}),
    ...(ends === undefined ? {} : { ends }),
    ...measured,
    ...(tasks.length === 0 ? {} : { tasks: [...tasks] }),
    ...(hasChangedTasks ? { changedTasks: true } : {}),
    ...(await newlyOpen(step, ports)),
    ...(feedback === undefined ? {} : { feedback }),
  })
  spending.told(place.scope)
  if (!ports.stop.aborted) await runHooks('afterIteration', event, step, context)
  return pause
}

/** The end of a loop by its iterations, its budget or a lack of progress. */
async function endByCount(
  step: StepNode,
  { iteration }: Place,
  judged: Judgement,
  { idle = 0, fingerprint, hasChangedTasks }: Measured & { readonly hasChangedTasks: boolean },
  usage: Usage | undefined,
  { plan, ports }: Context,
): Promise<End | undefined> {
  const { stall } = step.policy
  const handedOver = () => handOver(step, judged, iteration, hasChangedTasks, ports)
  if (iteration >= (step.loop ?? 1)) return usedUp(step, judged, ports, handedOver)
  const broke = hasBudget(step, plan)
    ? spentBudget(step, plan, spend(ports.state(), step.number, usage))
    : undefined
  if (broke !== undefined) return broke
  if (stall === 0 || idle < stall) return undefined
  return (await handedOver()) ?? stalledEnd(idle, judged, fingerprint)
}

/** The end of a step that has no iteration left. */
async function usedUp(
  step: StepNode,
  { gate }: Judgement,
  ports: Ports,
  handedOver: () => Promise<End | undefined>,
): Promise<End> {
  if (gate?.isOpen === false) return { reason: 'gate_failed', detail: gate.detail }
  const detail = await stillReady(step, ports)
  const usual = { reason: 'max_iterations' as const, ...(detail === undefined ? {} : { detail }) }
  return (await handedOver()) ?? usual
}

/** A planner without a marker hands its tasks over to the builder, unless every iteration failed. */
async function handOver(
  step: StepNode,
  { outcome, gate }: Judgement,
  iteration: number,
  hasChangedTasks: boolean,
  ports: Ports,
): Promise<End | undefined> {
  if (step.goesOnWithTasks !== true || gate?.isOpen === false) return undefined
  const { failures, hasChangedTasks: hadBefore } = stepAt(ports.state(), step.number)
  if (isFailure(outcome) && failures >= iteration - 1) return undefined
  if (!hasChangedTasks && !hadBefore) return undefined
  const { open } = await ports.tasks.count()
  if (open === 0) return undefined
  return { reason: 'until', unmarked: true, detail: `there are tasks to do (${open})` }
}
