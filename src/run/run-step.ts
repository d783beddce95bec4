import { isComplete } from '../events/state.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import type { Outcome, Reason } from '../events/schema.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Context } from './context.ts'
import { stopReasonOf, type Ports } from './ports.ts'
import { runIteration } from './run-iteration.ts'
import { finishesTasks, hasReadyTasks, leftUndone } from './task-check.ts'

interface End {
  readonly reason: Reason
  readonly detail?: string
}

/** Runs one agent, once or in a loop; true where the step is complete. */
export async function runStep(step: StepNode, context: Context): Promise<boolean> {
  const { ports } = context
  const place = { scope: [step.id], step: step.number, agent: step.agent.name }
  const max = step.loop === undefined ? {} : { maxIterations: step.loop }
  ports.emit({ type: 'step_started', ...place, ...max })
  const limit = step.loop ?? 1
  let iterations = 0
  let failures = 0
  let end: End | undefined
  while (end === undefined) {
    if (ports.stop.aborted) end = interrupted(ports.stop)
    else if (iterations === limit) end = usedUp(step, ports, failures < iterations)
    else {
      const outcome = await runIteration(step, ++iterations, context)
      if (isFailure(outcome)) failures += 1
      end = judge(outcome, step, ports)
    }
  }
  ports.emit({ type: 'step_ended', ...place, ...end, iterations, failures })
  return isComplete(end.reason)
}

function isFailure(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'exited':
      return outcome.code !== 0 || outcome.error !== undefined
    case 'marker':
    case 'interrupted':
    case 'spawn_failed':
      return false
    default:
      return true
  }
}

/** What the outcome of an iteration means for its step; undefined: go on with the next one. */
function judge(outcome: Outcome, step: StepNode, ports: Ports): End | undefined {
  switch (outcome.kind) {
    case 'marker':
      return leftBlocked(step, ports) ?? { reason: 'marker' }
    case 'interrupted':
      return interrupted(ports.stop)
    case 'spawn_failed':
      return { reason: 'error', detail: outcome.error }
    case 'auth_failed':
      // Whoever has no right to ask will not get it by asking again.
      return { reason: 'auth', detail: outcome.error }
    default:
      return step.loop === undefined ? endOnce(outcome) : endEarly(outcome, step, ports)
  }
}

/** Whoever finishes tasks need not be started again where none is ready, although he did not say so. */
function endEarly(outcome: Outcome, step: StepNode, ports: Ports): End | undefined {
  // Where there are no tasks at all, the agent alone can know.
  const hasTasks = finishesTasks(step) && ports.tasks.count().total > 0
  if (!hasTasks || hasReadyTasks(step, ports.tasks) || isFailure(outcome)) return undefined
  return leftBlocked(step, ports) ?? { reason: 'until', detail: 'no task is left' }
}

/** Nothing is ready, and yet not everything is done. */
function leftBlocked(step: StepNode, { tasks }: Ports): End | undefined {
  const detail = leftUndone(step, tasks)
  return detail === undefined ? undefined : { reason: 'blocked', detail }
}

/** What the outcome of its only iteration means for a step. */
function endOnce(outcome: Outcome): End {
  if (outcome.kind === 'exited' && !isFailure(outcome)) return { reason: 'single_run' }
  return { reason: 'agent_failed', detail: outcomeWords(outcome) }
}

/** A planner that only failed has planned nothing. */
function usedUp(step: StepNode, { tasks }: Ports, hasWorked: boolean): End {
  const open = step.goesOnWithTasks === true && hasWorked ? tasks.count().open : 0
  return open === 0
    ? { reason: 'max_iterations' }
    : { reason: 'until', detail: `there are tasks to do (${open})` }
}

function interrupted(stop: AbortSignal): End {
  return { reason: 'interrupted', detail: stopReasonOf(stop).words }
}
