import { awakeMs } from '../../base/awake.ts'
import type { End } from '../../records/events/schema.ts'
import { stepAt } from '../../records/events/state.ts'
import { isFailure } from '../../records/events/step-state.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { takeTurn } from '../agent/agent-turn.ts'
import { stalledEnd, type Measured } from '../progress/progress-watch.ts'
import { runHooks } from '../policy/hooks.ts'
import { judge, type Judgement } from './judge.ts'
import type { OpenRun } from './open-run.ts'
import { prepareHandIn } from './in-branch.ts'
import type { Patience, Pause } from '../policy/patience.ts'
import { isScoped, type Place } from '../place.ts'
import { watchClaims } from '../policy/claim-watch.ts'
import { newlyOpen, stillReady } from '../policy/task-check.ts'

/** Runs the agent once with a fresh context, judges its outcome and emits the events. */
export async function runIteration(
  step: StepNode,
  place: Place,
  patience: Patience,
  run: OpenRun,
): Promise<Pause | undefined> {
  const { ports, progress, spending } = run
  const before = await progress.begin(step)
  // Only if needed: it reads every task file.
  const printTasks = async () => (step.goesOnWithTasks === true ? ports.tasks.fingerprint() : '')
  const tasksBefore = await printTasks()
  const began = awakeMs()
  const endWatch = watchClaims(claimStep(step, place), place, ports)
  const { usage, exitCode, outputBytes, ...turned } = await takeTurn(step, place, run).finally(
    endWatch,
  )
  const ms = Math.round(awakeMs() - began)
  const tasks = await ports.tasks.endIteration(
    claimStep(step, place),
    place.iteration,
    turned.outcome.kind,
  )
  const changedTasks = (await printTasks()) !== tasksBefore
  const judged = await judge(turned, { step, place, patience, context: run })
  const { outcome, refusal, feedback, pause, isAgain = false } = judged
  if (refusal !== undefined) ports.emit({ type: 'marker_refused', ...place, why: refusal })
  const handing = await prepareHandIn(step, judged, tasks, run)
  const measured = await progress.measure(step, judged, before)
  const worked = { ...judged, ...measured, changedTasks }
  const ends = isAgain || judged.ends ? judged.ends : await endByCount(step, place, worked, run)
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
    ...(changedTasks ? { changedTasks } : {}),
    ...(await newlyOpen(step, ports)),
    ...(feedback === undefined ? {} : { feedback }),
    ...handing,
  })
  spending.recorded(place.scope)
  if (!ports.stop.aborted) await runHooks('afterIteration', event, step, run)
  return pause
}

/** The step as claims name it: by its number if that is unambiguous, otherwise by its scope. */
function claimStep(step: StepNode, { scope }: Place): string {
  return isScoped(step) ? scope.slice(0, -1).join('/') : String(step.number)
}

interface Worked extends Judgement, Measured {
  readonly changedTasks: boolean
}

/** The end of a loop that has used up its iterations or budget, or makes no progress. */
async function endByCount(
  step: StepNode,
  { iteration }: Place,
  worked: Worked,
  run: OpenRun,
): Promise<End | undefined> {
  const { stall } = step.policy
  const { gate, idle = 0 } = worked
  if (iteration >= (step.loop ?? 1)) {
    if (gate?.isOpen === false) {
      const { detail, cause } = gate
      return { reason: 'gate_failed', detail, cause }
    }
    const detail = await stillReady(step, run.ports)
    const ready = detail === undefined ? {} : { detail, cause: 'tasks_ready' as const }
    return (await handOver(step, iteration, worked, run)) ?? { reason: 'max_iterations', ...ready }
  }
  const broke = run.spending.spentBudget(step)
  if (broke !== undefined || stall === 0 || idle < stall) return broke
  return (await handOver(step, iteration, worked, run)) ?? stalledEnd(idle, worked)
}

/** A planner without a marker hands its tasks over to the builder, unless every iteration failed. */
async function handOver(
  step: StepNode,
  iteration: number,
  { outcome, gate, changedTasks }: Worked,
  { ports }: OpenRun,
): Promise<End | undefined> {
  if (step.goesOnWithTasks !== true || gate?.isOpen === false) return undefined
  const { failures, hasChangedTasks: hadBefore } = stepAt(ports.state(), step)
  if (isFailure(outcome) && failures >= iteration - 1) return undefined
  if (!changedTasks && !hadBefore) return undefined
  const { open } = await ports.tasks.count()
  if (open === 0) return undefined
  return { reason: 'until', unmarked: true, detail: `there are tasks to do (${open})` }
}
