import { dropUndefined } from '../../base/objects.ts'
import type { Problem } from '../../base/errors.ts'
import { agentSteps } from '../parse/items.ts'
import {
  checkInstances,
  inherit,
  makeBranch,
  shareFolder,
  sharingWarnings,
  type BranchConfig,
} from './branches.ts'
import type { Facts } from './facts.ts'
import { makeList, type Planning } from './make-nodes.ts'
import { makeChainPolicy } from './make-policy.ts'
import { makeNotify } from './notify.ts'
import { applyOverrides } from './overrides.ts'
import {
  branchesIn,
  DEFAULT_PARALLEL,
  NO_STEPS,
  stepsOf,
  type GroupNode,
  type Node,
  type Plan,
} from './plan.ts'
import { collect, PlanError } from './problems.ts'
import type { Request } from './request.ts'
import { findSharedNames } from './name-clashes.ts'
import { Variables } from './variables.ts'
import { planWarnings, shadowWarnings } from './warnings.ts'

/** Returns the complete plan, or throws all problems at once. */
export function makePlan(
  request: Request,
  facts: Facts,
): { plan: Plan; warnings: readonly string[] } {
  const { run, cwd, name, chain, configuration, queueLimits } = request
  const variables = new Variables(request.variables)
  const isInRepository = facts.isInRepository(cwd)
  const problems: Problem[] = []
  const found = { problems, warnings: [], promptFiles: [], recoveries: [], groups: { count: 0 } }
  const planning: Planning = { request, facts, variables, isInRepository, ...found }
  const { branching = {} } = request
  const around = inherit(branching, chain)
  const of = makeList(planning, chain.steps, { onFail: chain.onFail, first: 1, around })
  const root = makeRoot(of, around, branching.isWhole === true)
  const isParallel = of.some((node) => branchesIn(node).length > 0)
  collect(problems, () => checkInstances(root))
  const hasWorktrees = isInRepository || facts.isBareRepository(cwd)
  if (branching.isWhole === true && !hasWorktrees) problems.push(NO_REPOSITORY)
  const whole = collect(problems, () => makeChainPolicy(chain))
  const shadowed = shadowWarnings(agentSteps(chain.steps), request, facts)
  // If there are other problems, a variable may only seem unused.
  const unused = problems.length === 0 ? variables.warnings() : []
  problems.push(...variables.problems)
  if (problems.length === 0 && isParallel)
    problems.push(...findSharedNames({ run, root }, facts.readPrompt))
  if (problems.length > 0 || whole === undefined)
    throw new PlanError(problems, [...new Set(shadowed), ...unused])
  const { maxParallel = isParallel ? DEFAULT_PARALLEL : undefined } = chain
  const notify = makeNotify(chain.notify ?? request.notify)
  const made: Plan = {
    run,
    cwd,
    root: hasWorktrees ? root : shareFolder(root),
    recoveries: planning.recoveries,
    ...whole,
    ...dropUndefined({ chain: name, notify, maxParallel, configuration, queueLimits }),
  }
  const plan = applyOverrides(made, request.overrides ?? {})
  const shared = hasWorktrees ? [] : sharingWarnings(cwd, root)
  const others = [...shared, ...planWarnings(plan, request, facts)]
  const unfilled = variables.warnings(shellCommands(plan), planning.promptFiles)
  const warnings = [...shadowed, ...unfilled, ...planning.warnings, ...others]
  return { plan, warnings: [...new Set(warnings)] }
}

const NO_REPOSITORY: Problem = {
  message: '--worktree needs a git repository.',
  hint: 'Create one: git init && git add -A && git commit -m "Start"',
}

/** The chain itself; with `isWhole`, it works in its own worktree. */
function makeRoot(of: readonly Node[], config: BranchConfig, isWhole: boolean): GroupNode {
  const root = { ...NO_STEPS, of }
  return isWhole
    ? { ...root, branch: makeBranch(root, { ...config, isolation: 'worktree' }) }
    : root
}

/** Gates, conditions, hooks and setups. */
function shellCommands({ root, recoveries, when, hooks }: Plan): string[] {
  const policies = [...stepsOf(root), ...recoveries].map(({ policy }) => policy)
  const ofSteps = policies.flatMap((policy) => [
    policy.when,
    policy.until,
    ...policy.verify,
    ...Object.values(policy.hooks).flat(),
  ])
  const setups = branchesIn(root).map(({ branch }) => branch?.setup)
  const all = [when, ...Object.values(hooks).flat(), ...ofSteps, ...setups]
  return all.filter((each) => each !== undefined)
}
