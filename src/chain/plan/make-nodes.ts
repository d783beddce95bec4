import { dropUndefined } from '../../base/objects.ts'
import type { Problem } from '../../base/errors.ts'
import type { AgentConfig, ItemConfig, StepConfig } from '../parse/chains-schema.ts'
import { agentSteps, groupOf } from '../parse/items.ts'
import type { OnFailConfig } from '../parse/policy-schema.ts'
import { describeNearMiss, findNearMisses } from '../parse/prompt/near-misses.ts'
import type { Template } from '../parse/template.ts'
import { choosePrompt } from '../prompts/choose.ts'
import { plansTasks, withTaskCheck } from './agent-role.ts'
import { inherit, makeBranch, uselessFields, type BranchConfig } from './branches.ts'
import { checkKey, checkRequirements, checkSpecs, findTaskProblems } from './checks.ts'
import type { Facts } from './facts.ts'
import { makeLaunch } from './launch.ts'
import {
  chooseOnFail,
  defaultPolicy,
  makeBudget,
  makeOnFail,
  makePolicy,
  makePromptRules,
  type Targets,
} from './make-policy.ts'
import {
  builtInVariables,
  NO_STEPS,
  stepsOf,
  type GroupNode,
  type Node,
  type StepNode,
} from './plan.ts'
import type { Policy } from './policy.ts'
import { collect } from './problems.ts'
import { promptCandidates } from './prompt-candidates.ts'
import type { Request } from './request.ts'
import { configOf, resolveAgent } from './resolve-agent.ts'
import type { Variables } from './variables.ts'

/** State shared by all parts of planning. */
export interface Planning {
  readonly request: Request
  readonly facts: Facts
  readonly variables: Variables
  readonly isInRepository: boolean
  readonly problems: Problem[]
  /** Warnings about misspelt prompt commands, and settings without effect. */
  readonly warnings: string[]
  readonly promptFiles: string[]
  readonly recoveries: StepNode[]
  readonly groups: { count: number }
}

/** A list of the chain: the chain itself, or a group. */
interface List {
  /** What its items do on failure unless they set `onFail`. */
  readonly onFail?: OnFailConfig | undefined
  /** The number of its first step. */
  readonly first: number
  /** How long its steps wait for a quota, unless configured. */
  readonly maxWaitMs?: number | undefined
  /** Whether its items run in parallel. */
  readonly isParallel?: boolean
  /** The settings for branches of the chain and the groups around it. */
  readonly around: BranchConfig
}

function agentArgs(name: string, { agents }: Request): Template[] {
  const args = Object.hasOwn(agents, name) ? agents[name]?.args : undefined
  return (args ?? []).map((arg) => [arg])
}

export function makeList(planning: Planning, items: readonly ItemConfig[], list: List): Node[] {
  const numbers = items.map((_, index) => list.first + agentSteps(items.slice(0, index)).length)
  const nodes = items.flatMap((item, index) => {
    const first = numbers[index]!
    const goto = { items, numbers }
    return 'agent' in item
      ? (makeStep(planning, item, first, list, goto) ?? [])
      : (makeGroup(planning, item, first, list, goto) ?? [])
  })
  return list.isParallel === true ? nodes : allowHandOver(nodes)
}

/** A planner that does not finish may hand its tasks to the builder after it. */
function allowHandOver(nodes: readonly Node[]): Node[] {
  return nodes.map((node, index) => {
    const next = nodes[index + 1]
    if (node.kind !== 'step' || next === undefined) return node
    const isHandOver = plansTasks(node.agent) && stepsOf(next)[0]?.agent.finishesTasks === true
    const isOurs = isHandOver && node.policy.onFail.kind === 'stop'
    return isOurs ? { ...node, goesOnWithTasks: true } : node
  })
}

function makeStep(
  planning: Planning,
  step: StepConfig,
  number: number,
  list: List,
  targets: Targets,
): StepNode | undefined {
  const { request } = planning
  const { onFail: usual, maxWaitMs } = list
  const node = makeNode(planning, step, { id: `s${number}`, number }, (defaults, agent) => {
    const chosen = chooseOnFail({ step, chain: { onFail: usual }, agent })
    const onFail = planOnFail(planning, chosen, `'${step.agent}'`, targets)
    const given = maxWaitMs === undefined ? defaults : { ...defaults, maxWaitMs }
    return makePolicy({ step, chain: request.chain, agent }, onFail ?? given.onFail, given)
  })
  if (node === undefined) return undefined
  const copied = { ...node, ...dropUndefined({ copies: step.copies }) }
  return withBranch(planning, copied, step, list, configOf(node.agent, request.agents))
}

/** Adds branch settings to an item if it, or each of its copies, is a branch. */
function withBranch<Of extends Node>(
  { request, warnings }: Planning,
  node: Of,
  item: ItemConfig,
  { isParallel, around }: List,
  agent: BranchConfig = {},
): Of {
  if (isParallel !== true && node.copies === undefined) {
    if (node.kind === 'step') warnings.push(...uselessFields(node, item))
    return node
  }
  const config = inherit(request.branching ?? {}, item, around, agent)
  return { ...node, branch: makeBranch(node, config, item) }
}

function planOnFail(planning: Planning, config: OnFailConfig, owner: string, targets: Targets) {
  const { request, problems } = planning
  const place = { owner, chain: request.name }
  return collect(problems, () =>
    makeOnFail(config, targets, place, (name) => makeRecovery(planning, name)),
  )
}

function makeGroup(
  planning: Planning,
  item: Exclude<ItemConfig, StepConfig>,
  first: number,
  list: List,
  targets: Targets,
): GroupNode | undefined {
  const { problems, groups } = planning
  const { onFail: usual = 'stop', maxWaitMs } = list
  const { kind, items } = groupOf(item)!
  groups.count += 1
  const id = `g${groups.count}`
  const { name = `group ${id}`, iterations: rounds, copies, when, failFast } = item
  const around = inherit(item, list.around)
  const inside = { first, maxWaitMs, around, isParallel: kind === 'parallel' }
  const of =
    kind === 'fallback'
      ? makeAlternatives(planning, items, inside)
      : makeList(planning, items, inside)
  const onFail = planOnFail(planning, item.onFail ?? usual, `'${name}'`, targets)
  const budget = collect(problems, () => makeBudget(item))
  if (onFail === undefined || budget === undefined || of.length < items.length) return undefined
  const hooks = dropUndefined(item.hooks ?? {})
  const policy = { onFail, budget, hooks, ...dropUndefined({ when, failFast }) }
  const group = { kind, id, of, policy, ...dropUndefined({ name: item.name, rounds, copies }) }
  return withBranch(planning, group, item, list)
}

/** The items of a fallback group: at a usage limit, each but the last passes the work on to the next. */
function makeAlternatives(planning: Planning, items: readonly ItemConfig[], list: List): Node[] {
  return items.flatMap((item, index) => {
    const first = list.first + agentSteps(items.slice(0, index)).length
    const isLast = index === items.length - 1
    return makeList(planning, [item], { ...list, first, maxWaitMs: isLast ? list.maxWaitMs : 0 })
  })
}

/** Plans an agent that runs once after a failed step, and returns its number after the steps. */
function makeRecovery(planning: Planning, name: string): number {
  const { request, recoveries } = planning
  const number = agentSteps(request.chain.steps).length + recoveries.length + 1
  const place = { id: `r${number}`, number }
  const { env } = request.chain
  const node = makeNode(planning, { agent: name }, place, (defaults, agent) =>
    makePolicy({ step: {}, chain: { env }, agent }, defaults.onFail, defaults),
  )
  if (node !== undefined) recoveries.push(node)
  return number
}

function makeNode(
  { request, variables, facts, isInRepository, problems, warnings, promptFiles }: Planning,
  step: StepConfig,
  { id, number }: Pick<StepNode, 'id' | 'number'>,
  policyOf: (defaults: Policy, config: AgentConfig) => Policy,
): StepNode | undefined {
  const agent = collect(problems, () => resolveAgent(step.agent, request, facts))
  collect(problems, () => checkSpecs(step.agent, request, facts))
  const own = (step.args ?? []).map((arg) => variables.require(arg, `'${step.agent}'`))
  const builtIn = builtInVariables(
    { run: request.run, root: NO_STEPS },
    { number, ...dropUndefined({ loop: step.iterations }) },
    1,
  )
  const prompt = collect(problems, () => promptCandidates(request, step, builtIn, variables, facts))
  if (agent === undefined || prompt === undefined) return undefined
  const config = configOf(agent, request.agents)
  const policy = collect(problems, () => policyOf(defaultPolicy(agent, isInRepository), config))
  if (policy === undefined) return undefined
  const args = [...agentArgs(step.agent, request), ...request.args.map((arg) => [arg]), ...own]
  const node: StepNode = {
    kind: 'step',
    id,
    number,
    ...dropUndefined({ name: step.name, loop: step.iterations }),
    agent: withTaskCheck(agent, config, args, facts.readPrompt),
    cwd: request.cwd,
    args,
    prompt,
    ...makePromptRules({ ...request, step, agent: config, isRaw: request.rawPrompt === true }),
    policy: request.grace === undefined ? policy : { ...policy, grace: request.grace },
  }
  // Without its variables, a prompt is not a candidate.
  if (variables.problems.length === 0)
    collect(problems, () => checkRequirements(node, request, facts))
  collect(problems, () => checkKey(node, facts))
  collect(problems, () => {
    const chosen = choosePrompt(node.prompt, builtIn, facts.readPrompt)
    if (chosen?.source.file !== undefined) promptFiles.push(chosen.text)
    const { phases, where } = makeLaunch(node, builtIn, facts.readPrompt)
    problems.push(
      ...findTaskProblems(phases, where, (name) => void resolveAgent(name, request, facts)),
    )
    if (node.rawPrompt === true) return
    warnings.push(
      ...findNearMisses(phases.content).map((miss) => `${where}: ${describeNearMiss(miss)}`),
    )
  })
  return node
}
