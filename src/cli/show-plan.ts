import { Mask } from '../base/mask.ts'
import type { Stamp } from '../events/event.ts'
import type { Facts } from '../plan/facts.ts'
import { makeLaunch } from '../plan/launch.ts'
import { builtInVariables, stepsOf, type Plan, type StepNode } from '../plan/plan.ts'
import { chainLines, stepLines } from '../plan/policy-lines.ts'
import { renderDryRun } from '../views/dry-run.ts'
import type { Input } from './command.ts'
import { secretsOf } from './secrets.ts'

/** The option `--dry-run`: what would run, for people or for a script. */
export function showPlan(
  plan: Plan,
  warnings: readonly string[],
  facts: Facts,
  input: Input,
  stamp: Stamp,
  env: Readonly<Record<string, string>>,
): number {
  const mask = new Mask(secretsOf(plan, env))
  const steps = stepsOf(plan.root)
  const previews = [
    ...steps.map((step) => preview(step, plan, facts)),
    ...plan.recoveries.map((step) => ({ ...preview(step, plan, facts), isRecovery: true })),
  ]
  for (const warning of warnings) console.error(`[forkhestra] Warning: ${warning}`)
  if (input.flag('json')) {
    const { budget, when, hooks } = plan
    const chain = { budget, ...(when === undefined ? {} : { when }), hooks }
    console.log(JSON.stringify(mask.data(stamp({ type: 'dry_run', steps: previews, chain }))))
    return 0
  }
  const isComplete = input.flag('verbose')
  const isInRepository = facts.isInRepository(plan.cwd)
  const lines = [...steps, ...plan.recoveries].map((step) =>
    stepLines(step, plan, { isInRepository, isComplete }),
  )
  const shown = previews.map((each, index) => ({ ...each, lines: lines[index] ?? [] }))
  console.log(renderDryRun(mask.data(shown), mask.data(chainLines(plan)), isComplete))
  return 0
}

function preview(step: StepNode, plan: Plan, facts: Facts) {
  const values = builtInVariables(plan.run, step, 1)
  const asWritten = { asWritten: true }
  const { launch, args, prompt } = makeLaunch(step, values, facts.readPrompt, asWritten)
  return {
    step: step.number,
    agent: step.agent.name,
    ...(step.name === undefined ? {} : { name: step.name }),
    kind: step.agent.engine,
    ...(step.loop === undefined ? {} : { maxIterations: step.loop }),
    args: [...args],
    ...(prompt === undefined ? {} : { prompt }),
    argv: [...launch.argv],
    policy: { ...step.policy },
  }
}
