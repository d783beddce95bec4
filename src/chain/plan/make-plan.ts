import { dropUndefined } from '../../base/drop-undefined.ts'
import type { Problem } from '../../base/errors.ts'
import type { AgentConfig, StepConfig } from '../parse/chains-schema.ts'
import type { Template } from '../parse/template.ts'
import { plansTasks, withTaskCheck } from './agent-role.ts'
import { checkKey, checkRequirements, checkSpecs, findTaskProblems } from './checks.ts'
import type { Facts } from './facts.ts'
import { describeNearMiss, findNearMisses } from '../parse/prompt/near-misses.ts'
import { makeLaunch } from './launch.ts'
import {
  defaultPolicy,
  makeChainPolicy,
  makeOnFail,
  makePolicy,
  makePromptRules,
} from './make-policy.ts'
import { applyOverrides } from './overrides.ts'
import { builtInVariables, type Plan, type StepNode } from './plan.ts'
import type { Policy } from './policy.ts'
import { collect, PlanError } from './problems.ts'
import { promptCandidates } from './prompt-candidates.ts'
import type { Request } from './request.ts'
import { configOf, resolveAgent } from './resolve-agent.ts'
import { Variables } from './variables.ts'
import { planWarnings, shadowWarnings } from './warnings.ts'

/** What all parts of planning share. */
interface Planning {
  readonly request: Request
  readonly facts: Facts
  readonly variables: Variables
  readonly isInRepository: boolean
  readonly problems: Problem[]
  /** Misspelt commands of prompts. */
  readonly misses: string[]
  readonly recoveries: StepNode[]
}

/** Returns the complete plan, or throws all problems at once. */
export function makePlan(
  request: Request,
  facts: Facts,
): { plan: Plan; warnings: readonly string[] } {
  const { run, cwd, name, chain, configuration, queueLimits } = request
  const variables = new Variables(request.variables)
  const isInRepository = facts.isInRepository(cwd)
  const problems: Problem[] = []
  const misses: string[] = []
  const planning = { request, facts, variables, isInRepository, problems, misses, recoveries: [] }
  const steps = allowHandOver(
    chain.steps.flatMap((step, index) => makeStep(planning, step, index + 1) ?? []),
  )
  const whole = collect(problems, () => makeChainPolicy(chain))
  const shadowed = shadowWarnings(chain.steps, request, facts)
  // With other problems, a variable may only seem to be unused.
  const unused = problems.length === 0 ? variables.warnings : []
  problems.push(...variables.problems)
  if (problems.length > 0 || whole === undefined)
    throw new PlanError(problems, [...new Set(shadowed), ...unused])
  const made: Plan = {
    run,
    cwd,
    root: { kind: 'sequence', id: 'root', of: steps },
    recoveries: planning.recoveries,
    ...whole,
    ...dropUndefined({ chain: name, configuration, queueLimits }),
  }
  const plan = applyOverrides(made, request.overrides ?? {})
  const others = planWarnings(plan, request, facts)
  const warnings = [...shadowed, ...variables.warnings, ...misses, ...others]
  return { plan, warnings: [...new Set(warnings)] }
}

function agentArgs(name: string, { agents }: Request): Template[] {
  const args = Object.hasOwn(agents, name) ? agents[name]?.args : undefined
  return (args ?? []).map((arg) => [arg])
}

/** A planner that does not finish may hand its tasks over to the builder after it. */
function allowHandOver(steps: readonly StepNode[]): StepNode[] {
  return steps.map((step, index) => {
    const next = steps[index + 1]
    const isHandOver = plansTasks(step.agent) && next?.agent.finishesTasks === true
    const isOurs = isHandOver && step.policy.onFail.kind === 'stop'
    return isOurs ? { ...step, goesOnWithTasks: true } : step
  })
}

function makeStep(planning: Planning, step: StepConfig, number: number): StepNode | undefined {
  const { request, problems } = planning
  return makeNode(planning, step, { id: `s${number}`, number }, (defaults, agent) => {
    const levels = { step, chain: request.chain, agent, name: request.name }
    const onFail = collect(problems, () =>
      makeOnFail(levels, (name) => makeRecovery(planning, name)),
    )
    return makePolicy(levels, onFail ?? defaults.onFail, defaults)
  })
}

/** Plans an agent that runs once after a failed step, and returns its number after the steps. */
function makeRecovery(planning: Planning, name: string): number {
  const { request, recoveries } = planning
  const number = request.chain.steps.length + recoveries.length + 1
  const place = { id: `r${number}`, number }
  const { env } = request.chain
  const node = makeNode(planning, { agent: name }, place, (defaults, agent) =>
    makePolicy({ step: {}, chain: { env }, agent }, defaults.onFail, defaults),
  )
  if (node !== undefined) recoveries.push(node)
  return number
}

function makeNode(
  { request, variables, facts, isInRepository, problems, misses }: Planning,
  step: StepConfig,
  { id, number }: Pick<StepNode, 'id' | 'number'>,
  policyOf: (defaults: Policy, config: AgentConfig) => Policy,
): StepNode | undefined {
  const agent = collect(problems, () => resolveAgent(step.agent, request, facts))
  collect(problems, () => checkSpecs(step.agent, request, facts))
  const own = (step.args ?? []).map((arg) => variables.require(arg, `'${step.agent}'`))
  const builtIn = builtInVariables(request.run, { number, loop: step.iterations }, 1)
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
  collect(problems, () => checkRequirements(node, request, facts))
  collect(problems, () => checkKey(node, facts))
  collect(problems, () => {
    const { phases, where } = makeLaunch(node, builtIn, facts.readPrompt)
    problems.push(
      ...findTaskProblems(phases, where, (name) => void resolveAgent(name, request, facts)),
    )
    if (node.rawPrompt === true) return
    misses.push(
      ...findNearMisses(phases.content).map((miss) => `${where}: ${describeNearMiss(miss)}`),
    )
  })
  return node
}
