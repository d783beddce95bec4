import type { RunEvent } from '../../records/events/schema.ts'
import type { HookName } from '../../chain/plan/policy.ts'
import { groupPolicy, type StepNode } from '../../chain/plan/plan.ts'
import { groupIdOf, groupKeys } from '../../records/events/tree.ts'
import { runCommand } from './command.ts'
import type { Context } from '../context.ts'

/** Runs the hooks of the step, its groups and the chain with the event on stdin; returns the first failure. */
export async function runHooks(
  name: HookName,
  event: RunEvent,
  step: StepNode | undefined,
  context: Context,
  stop?: AbortSignal,
): Promise<string | undefined> {
  let problem: string | undefined
  const keys = step === undefined ? [] : groupKeys(step).toReversed()
  const groups = keys.map((key) => groupPolicy(context.plan, groupIdOf(key))?.hooks[name])
  let stdin: string | undefined
  for (const command of [step?.policy.hooks[name], ...groups, context.plan.hooks[name]]) {
    if (command === undefined) continue
    const iteration = 'iteration' in event ? event.iteration : undefined
    stdin ??= `${JSON.stringify({ ...event, notice: context.ports.describe(event) })}\n`
    const request = { role: name, command, step, iteration, stdin }
    const { result, detail } = await runCommand(request, context, stop)
    if (result === 'failed' || result === 'broken') problem ??= `${name}: ${command}: ${detail}`
  }
  return problem
}
