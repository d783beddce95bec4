import { isComplete } from '../events/state.ts'
import type { Outcome, Reason } from '../events/schema.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Context } from './context.ts'
import { stopReasonOf, type Ports } from './ports.ts'
import { runIteration } from './run-iteration.ts'

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
    else if (iterations === limit) end = { reason: 'max_iterations' }
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
  return outcome.kind === 'signalled' || (outcome.kind === 'exited' && outcome.code !== 0)
}

/** What the outcome of an iteration means for its step; undefined: go on with the next one. */
function judge(outcome: Outcome, step: StepNode, { stop }: Ports): End | undefined {
  const isLoop = step.loop !== undefined
  switch (outcome.kind) {
    case 'marker':
      return { reason: 'marker' }
    case 'interrupted':
      return interrupted(stop)
    case 'spawn_failed':
      return { reason: 'error', detail: outcome.error }
    case 'exited':
      if (isLoop) return undefined
      if (outcome.code === 0) return { reason: 'single_run' }
      return { reason: 'agent_failed', detail: `exit ${outcome.code}` }
    case 'signalled':
      return isLoop ? undefined : { reason: 'agent_failed', detail: `killed by ${outcome.signal}` }
  }
}

function interrupted(stop: AbortSignal): End {
  return { reason: 'interrupted', detail: stopReasonOf(stop).words }
}
