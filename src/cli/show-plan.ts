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

/** What would run, and what the lines about it depend on. */
interface PlanToShow {
  readonly plan: Plan
  readonly facts: Facts
  readonly tasks: Tasks
  readonly env: Readonly<Record<string, string>>
}

/** The option `--dry-run`: what would run, for people or for a script. */
export async function showPlan(
  toShow: PlanToShow,
  warnings: readonly string[],
  input: Input,
  stamp: Stamp,
): Promise<number> {
  const { plan, facts, env } = toShow
  const mask = new Mask(secretsOf(plan, env))
  const previews = previewPlan(plan, facts)
  const clashes = mask.data(previews.flatMap((each) => each.clashes))
  for (const warning of [...warnings, ...clashes]) console.error(`[forkhestra] Warning: ${warning}`)
  if (input.flag('json')) {
    const steps = previews.map((each) => each.shown)
    const event = { type: 'dry_run' as const, steps, ...groupsAndChain(plan) }
    console.log(JSON.stringify(mask.data(stamp(event))))
  } else {
    const isComplete = input.flag('verbose')
    const branches = branchLines(
      plan,
      hasWorktrees(plan) ? currentBranch(plan.cwd, env) : undefined,
    )
    const steps = await describeSteps(toShow, previews, branches, input)
    const groups = describeGroups(plan, branches)
    const chain = [...chainLines(plan), ...(branches.get(plan.root.id) ?? [])]
    console.log(renderDryRun(mask.data(steps), mask.data(chain), isComplete, mask.data(groups)))
  }
  return 0
}

function groupsAndChain(plan: Plan) {
  const { budget, when, hooks, notify, maxParallel, root } = plan
  const nodes = groupNodes(plan)
  const groups = summarize(plan).groups?.map((group) => ({
    ...group,
    branch: branchJson(nodes.get(group.id) ?? {}),
  }))
  const rest = dropUndefined({ notify, maxParallel, branch: branchJson(root) })
  return { ...dropUndefined({ groups }), chain: { budget, when, hooks, ...rest } }
}

function groupNodes({ root }: Plan) {
  return new Map(groupsOf(root).map((group) => [group.id, group]))
}

type BranchLines = ReturnType<typeof branchLines>

function describeSteps(
  { plan, facts, tasks }: PlanToShow,
  previews: ReturnType<typeof previewPlan>,
  branches: BranchLines,
  input: Input,
) {
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
      ...(branches.get(step.id) ?? []),
    ],
  }))
  return Promise.all(described)
}

function describeGroups(plan: Plan, branches: BranchLines) {
  const nodes = groupNodes(plan)
  return (summarize(plan).groups ?? []).map((group) => {
    const policy = nodes.get(group.id)?.policy
    const own = policy === undefined ? [] : groupLines(policy, plan)
    return { ...group, lines: [...own, ...(branches.get(group.id) ?? [])] }
  })
}

function fileLines(words: string | undefined) {
  return words === undefined ? [] : [{ label: 'agent', words }]
}

function toolLines({ agent }: StepNode, hasQueue: boolean) {
  const words = engineOf(agent).describeTools(agent, hasQueue)
  return words === undefined ? [] : [{ label: 'tools', words }]
}
