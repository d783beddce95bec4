import { ownIdentity } from '../base/process-identity.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Context } from './context.ts'

/** What every process of a step gets: the run's environment, the step's own, and where it is. */
export function stepEnvironment(
  step: StepNode,
  iteration: number,
  { plan, ports }: Context,
): Record<string, string> {
  return {
    ...runEnvironment(plan.run, ports.env),
    ...step.policy.env,
    PWD: step.cwd,
    FORKHESTRA_STEP: String(step.number),
    FORKHESTRA_AGENT: step.agent.name,
    FORKHESTRA_ITERATION: String(iteration),
    FORKHESTRA_MAX_ITERATIONS: String(step.loop ?? 1),
  }
}

/** What every process of a run gets. */
export function runEnvironment(
  run: string,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const { FORKHESTRA_RUN_PATH: outer, FORKHESTRA_RUN_PROCESS: _, ...inherited } = env
  const identity = ownIdentity()
  return {
    ...inherited,
    FORKHESTRA_RUN_ID: run,
    ...(identity === undefined ? {} : { FORKHESTRA_RUN_PROCESS: identity }),
    FORKHESTRA_RUN_PATH: outer ? `${outer}:${run}` : run,
  }
}
