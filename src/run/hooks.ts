import type { RunEvent } from '../events/schema.ts'
import type { HookName } from '../plan/policy.ts'
import type { StepNode } from '../plan/plan.ts'
import { runCommand } from './command.ts'
import type { Context } from './context.ts'

/**
 * Runs what the step and the chain want to happen at this moment, with the event on stdin. How the
 * first that failed went is returned; what it means is up to the caller.
 */
export async function runHooks(
  name: HookName,
  event: RunEvent,
  step: StepNode | undefined,
  context: Pick<Context, 'plan' | 'ports' | 'family'>,
  stop?: AbortSignal,
): Promise<string | undefined> {
  let problem: string | undefined
  for (const command of [step?.policy.hooks[name], context.plan.hooks[name]]) {
    if (command === undefined) continue
    const iteration = 'iteration' in event ? event.iteration : undefined
    const errand = { role: name, command, step, iteration, stdin: `${JSON.stringify(event)}\n` }
    const { result, detail } = await runCommand(errand, context, stop)
    if (result === 'failed' || result === 'broken') problem ??= `${name}: ${command}: ${detail}`
  }
  return problem
}
