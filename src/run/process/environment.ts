import { dropUndefined } from '../../base/objects.ts'
import { withoutGitPlaces } from '../../base/git.ts'
import { ownIdentity } from '../../base/linux/process-identity.ts'
import type { QueueServer } from '../../engines/engine.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { agentName, MAIN, type Acting } from '../../queue/task.ts'
import { agentNameOf } from '../agent-names.ts'
import type { Context } from '../context.ts'
import { currentPlace, isScoped } from '../place.ts'
import type { Ports } from '../ports.ts'

export function stepEnvironment(
  step: StepNode,
  iteration: number,
  { plan, ports }: Context,
): Record<string, string> {
  const inherited = runEnvironment(plan.run, ports)
  return {
    // An agent in its own worktree must not commit to the user's branch.
    ...(step.cwd === plan.cwd ? inherited : withoutGitPlaces(inherited)),
    FORKHESTRA_AGENT_NAME: agentNameOf(plan, step),
    ...step.policy.env,
    PWD: step.cwd,
    FORKHESTRA_STEP: String(step.number),
    ...scopeVariable(step, iteration, ports),
    FORKHESTRA_AGENT: step.agent.name,
    FORKHESTRA_ITERATION: String(iteration),
    FORKHESTRA_MAX_ITERATIONS: String(step.loop ?? 1),
  }
}

/** Elsewhere the number identifies the step. */
function scopeVariable(
  step: StepNode,
  iteration: number,
  { state }: Ports,
): Record<string, string> {
  if (!isScoped(step)) return {}
  return { FORKHESTRA_SCOPE: [...currentPlace(step, state()).scope, `i${iteration}`].join('/') }
}

export function runEnvironment(run: string, { env, record }: Ports): Record<string, string> {
  const {
    FORKHESTRA_RUN_PATH: outer,
    FORKHESTRA_RUN_PROCESS: _process,
    FORKHESTRA_RECORD: _record,
    FORKHESTRA_PARENT_NAME: _parent,
    FORKHESTRA_TASK_ID: _task,
    FORKHESTRA_TASK_ATTEMPT: _attempt,
    FORKHESTRA_SCOPE: _scope,
    ...inherited
  } = env
  const identity = ownIdentity()
  return {
    ...inherited,
    FORKHESTRA_RUN_ID: run,
    // The name to which other agents send messages.
    FORKHESTRA_AGENT_NAME: MAIN,
    ...dropUndefined({ FORKHESTRA_RECORD: record, FORKHESTRA_RUN_PROCESS: identity }),
    FORKHESTRA_RUN_PATH: outer ? `${outer}:${run}` : run,
  }
}

/** The MCP server for queue and inbox of one agent; undefined if the run has no queues. */
export function queueServer(
  run: string,
  { queue, record }: Ports,
  agent: string | Acting,
): QueueServer | undefined {
  if (queue?.program === undefined || record === undefined) return undefined
  const env = {
    FORKHESTRA_RUN_ID: run,
    FORKHESTRA_AGENT_NAME: agentName(agent),
    FORKHESTRA_RECORD: record,
    ...(typeof agent === 'string' ? {} : actingEnvironment(agent)),
  }
  return { program: queue.program, env }
}

/** Tells the queue tools which attempt of which task they act for. */
export function actingEnvironment({ name, task, attempt }: Acting): Record<string, string> {
  return {
    FORKHESTRA_AGENT_NAME: name,
    FORKHESTRA_TASK_ID: task,
    FORKHESTRA_TASK_ATTEMPT: String(attempt),
  }
}
