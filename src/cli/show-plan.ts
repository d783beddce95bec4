import { dropUndefined } from '../base/objects.ts'
import { Mask } from '../base/secrets/mask.ts'
import type { Stamp } from '../records/events/event.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { engineOf } from '../engines/registry.ts'
import { groupsOf, type Plan, type StepNode } from '../chain/plan/plan.ts'
import { branchJson, branchLines } from '../chain/plan/branch-lines.ts'
import { hasWorktrees } from '../chain/plan/branches.ts'
import { chainLines, exemptLines, groupLines, stepLines } from '../chain/plan/policy-lines.ts'
import { summarize } from '../chain/plan/summarize.ts'
import { taskLines } from '../chain/plan/task-verdict.ts'
import type { Tasks } from '../chain/plan/tasks.ts'
import { currentBranch } from '../host/branch-repository.ts'
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
  const previews = previewPlan(plan, facts)
  const { groups } = summarize(plan)
  const nodes = new Map(groupsOf(plan.root).map((group) => [group.id, group]))
  const clashes = mask.data(previews.flatMap((each) => each.clashes))
  for (const warning of [...warnings, ...clashes]) console.error(`[forkhestra] Warning: ${warning}`)
  if (input.flag('json')) {
    const { budget, when, hooks, maxParallel, root } = plan
    const chain = {
      budget,
      when,
      hooks,
      ...dropUndefined({ maxParallel, branch: branchJson(root) }),
    }
    const shown = previews.map((each) => each.shown)
    const all = groups?.map((group) => ({
      ...group,
      branch: branchJson(nodes.get(group.id) ?? {}),
    }))
    const event = {
      type: 'dry_run' as const,
      steps: shown,
      ...dropUndefined({ groups: all }),
      chain,
    }
    console.log(JSON.stringify(mask.data(stamp(event))))
    return 0
  }
  const isComplete = input.flag('verbose')
  const overrides = readOverrides(input)
  const isInRepository = facts.isInRepository(plan.cwd)
  const base = hasWorktrees(plan) ? currentBranch(plan.cwd, env) : undefined
  const branches = branchLines(plan, base)
  const described = previews.map(async ({ step, prompt, shown }) => ({
    ...shown,
    lines: [
      ...fileLines(shown.agentFile),
      ...toolLines(step, shown.queueTools === true),
      ...phaseLines(prompt, isComplete),
      ...(await taskLines(step, plan, tasks)),
      ...(shown.isRecovery === true ? [] : exemptLines(step, overrides)),
      ...stepLines(step, plan, { isInRepository, isComplete }),
      ...(branches.get(step.id) ?? []),
    ],
  }))
  const steps = await Promise.all(described)
  const shownGroups = (groups ?? []).map((group) => {
    const policy = nodes.get(group.id)?.policy
    const own = policy === undefined ? [] : groupLines(policy, plan)
    return { ...group, lines: [...own, ...(branches.get(group.id) ?? [])] }
  })
  const chain = [...chainLines(plan), ...(branches.get(plan.root.id) ?? [])]
  console.log(renderDryRun(mask.data(steps), mask.data(chain), isComplete, mask.data(shownGroups)))
  return 0
}

function fileLines(words: string | undefined) {
  return words === undefined ? [] : [{ label: 'agent', words }]
}

function toolLines({ agent }: StepNode, hasQueue: boolean) {
  const words = engineOf(agent).describeTools(agent, hasQueue)
  return words === undefined ? [] : [{ label: 'tools', words }]
}
