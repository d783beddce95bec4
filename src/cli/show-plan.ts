import { Mask } from '../base/secrets/mask.ts'
import type { Stamp } from '../records/events/event.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { toolNames } from '../engines/native/tool-sets.ts'
import type { Plan, StepNode } from '../chain/plan/plan.ts'
import { chainLines, exemptLines, stepLines } from '../chain/plan/policy-lines.ts'
import { taskLines } from '../chain/plan/task-verdict.ts'
import type { Tasks } from '../chain/plan/tasks.ts'
import { previewPlan } from '../host/preview-plan.ts'
import { renderDryRun } from '../views/dry-run.ts'
import { phaseLines } from '../views/prompt-check.ts'
import type { Input } from './command.ts'
import { readOverrides } from './overrides.ts'
import { secretsOf } from '../host/secrets.ts'

/** The option `--dry-run`: what would run, for people or for a script. */
export async function showPlan(
  plan: Plan,
  warnings: readonly string[],
  facts: Facts,
  tasks: Tasks,
  input: Input,
  stamp: Stamp,
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const mask = new Mask(secretsOf(plan, env))
  const { previews, clashes } = previewPlan(plan, facts)
  for (const warning of [...warnings, ...clashes.map((text) => mask.data(text))])
    console.error(`[forkhestra] Warning: ${warning}`)
  if (input.flag('json')) {
    const { budget, when, hooks } = plan
    const chain = { budget, when, hooks }
    const shown = previews.map((each) => each.shown)
    console.log(JSON.stringify(mask.data(stamp({ type: 'dry_run', steps: shown, chain }))))
    return 0
  }
  const isComplete = input.flag('verbose')
  const overrides = readOverrides(input)
  const isInRepository = facts.isInRepository(plan.cwd)
  const described = previews.map(async ({ step, prompt, shown }) => ({
    ...shown,
    lines: [
      ...fileLines(shown.agentFile),
      ...toolLines(step, shown.queueTools === true),
      ...phaseLines(prompt, isComplete),
      ...(await taskLines(step, plan, tasks)),
      ...(shown.isRecovery === true ? [] : exemptLines(step, overrides)),
      ...stepLines(step, plan, { isInRepository, isComplete }),
    ],
  }))
  const steps = await Promise.all(described)
  console.log(renderDryRun(mask.data(steps), mask.data(chainLines(plan)), isComplete))
  return 0
}

function fileLines(words: string | undefined) {
  return words === undefined ? [] : [{ label: 'agent', words }]
}

function toolLines({ agent }: StepNode, hasQueue: boolean) {
  if (agent.engine === 'native') {
    return [{ label: 'tools', words: toolNames(agent, hasQueue).join(', ') || 'none' }]
  }
  return hasQueue ? [{ label: 'tools', words: 'queue and inbox, mcp__forkhestra__*' }] : []
}
