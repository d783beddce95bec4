import { join } from 'node:path'
import type { Problem } from '../base/errors.ts'
import { findSpecs, REQUIREMENTS, specsMissing, specsUnfilled } from '../builtins/specs.ts'
import { STARTER_SPECS } from '../builtins/starter-specs.ts'
import type { AgentConfig, ChainConfig, StepConfig } from '../parse/chains-schema.ts'
import type { Template } from '../parse/template.ts'
import { isBlank } from '../prompt/choose.ts'
import { findTaskProblems } from './check-tasks.ts'
import { agentWarnings } from './claude-agent.ts'
import type { Facts } from './facts.ts'
import { fileWarnings } from './file-agent.ts'
import { makeLaunch } from './launch.ts'
import {
  applyOverrides,
  defaultPolicy,
  makeChainPolicy,
  makePolicy,
  type Overrides,
} from './make-policy.ts'
import { makeOnFail } from './on-fail.ts'
import { builtInVariables, type Plan, type StepNode } from './plan.ts'
import type { Grace, Policy } from './policy.ts'
import { policyWarnings } from './policy-warnings.ts'
import { collect, PlanError } from './problems.ts'
import { promptCandidates, type InlineOrFile } from './prompt-candidates.ts'
import { makePromptRules } from './prompt-rules.ts'
import { configOf, findBuiltIn, isBuiltIn, resolveAgent, type Agents } from './resolve-agent.ts'
import { Variables } from './variables.ts'

/** What a person asked for, read but not yet checked against the machine. */
export interface Request {
  readonly run: string
  readonly cwd: string
  /** Name of the chain, where it has one. */
  readonly name?: string | undefined
  readonly chain: ChainConfig
  readonly agents: Agents
  /** What relative paths of the chain are relative to. */
  readonly base: string
  /** What relative paths of the agents are relative to. */
  readonly agentBase: string
  /** From the command line; a library's steps are filled already, but for the built-in ones. */
  readonly variables: ReadonlyMap<string, string> | 'built-in only'
  /** Arguments for every agent. */
  readonly args: readonly string[]
  readonly cliPrompt: InlineOrFile
  readonly chainNames?: readonly string[]
  readonly verbs?: readonly string[]
  /** Whether the chain is one of our own. */
  readonly isBuiltInChain?: boolean
  /** For every step, whatever the configuration says. */
  readonly grace?: Grace
  readonly rawPrompt?: boolean
  /** What the command line says, above all. */
  readonly overrides?: Overrides
  /** The file that was read. */
  readonly configuration?: Plan['configuration']
  readonly queueLimits?: Plan['queueLimits']
}

/** What the parts of the planning share. */
interface Planning {
  readonly request: Request
  readonly facts: Facts
  readonly variables: Variables
  readonly isInRepository: boolean
  readonly problems: Problem[]
  readonly recoveries: StepNode[]
}

/** The complete plan, or every reason why there is none. */
export function makePlan(
  request: Request,
  facts: Facts,
): { plan: Plan; warnings: readonly string[] } {
  const { run, cwd, name, chain, configuration, queueLimits } = request
  const variables = new Variables(request.variables)
  const isInRepository = facts.isInRepository(cwd)
  const problems: Problem[] = []
  const planning = { request, facts, variables, isInRepository, problems, recoveries: [] }
  const steps = chain.steps.flatMap((step, index) => makeStep(planning, step, index + 1) ?? [])
  const whole = collect(problems, () => makeChainPolicy(chain))
  problems.push(...variables.problems)
  if (problems.length > 0 || whole === undefined) throw new PlanError(problems)
  const made: Plan = {
    run,
    cwd,
    ...(name === undefined ? {} : { chain: name }),
    root: { kind: 'sequence', id: 'root', of: steps },
    recoveries: planning.recoveries,
    ...whole,
    ...(configuration === undefined ? {} : { configuration }),
    ...(queueLimits === undefined ? {} : { queueLimits }),
  }
  const plan = applyOverrides(made, request.overrides ?? {})
  const warnings = [
    ...variables.warnings,
    ...promptWarnings(request),
    ...[...steps, ...planning.recoveries].flatMap(({ agent }) =>
      agent.engine === 'claude'
        ? [
            ...agentWarnings(agent, isBuiltIn(agent.name, request, facts), facts),
            ...fileWarnings(agent, facts),
          ]
        : [],
    ),
    ...policyWarnings(plan, isInRepository),
  ]
  return { plan, warnings: [...new Set(warnings)] }
}

function agentArgs(name: string, { agents }: Request): Template[] {
  const args = Object.hasOwn(agents, name) ? agents[name]?.args : undefined
  return (args ?? []).map((arg) => [arg])
}

/** In a chain of our own, the builder may begin with what the planner has written so far. */
function goesOn(name: string, number: number, request: Request): boolean {
  const isLast = number >= request.chain.steps.length
  return request.isBuiltInChain === true && !isLast && findBuiltIn(name)?.plans === true
}

/** Whoever plans needs something to plan from. */
function checkSpecs(name: string, request: Request, facts: Facts): void {
  const builtIn = isBuiltIn(name, request, facts) ? findBuiltIn(name) : undefined
  if (builtIn?.plans !== true) return
  const fileExists = (path: string) => facts.fileExists(join(request.cwd, path))
  const folder = findSpecs(builtIn.specs, fileExists)
  if (folder === undefined) throw specsMissing(name, builtIn.specs)
  const isFilled = REQUIREMENTS.map((file) => `${folder}/${file}`).some(
    (path) => fileExists(path) && facts.readPrompt(path, request.cwd) !== STARTER_SPECS[path],
  )
  if (!isFilled) throw specsUnfilled(name, folder)
}

function promptWarnings({ cliPrompt: { prompt } }: Request): string[] {
  return prompt !== undefined && isBlank(prompt) ? ['The prompt of the command line is empty.'] : []
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

/** An agent that runs once where a step failed; returns its number, behind those of the steps. */
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
  { request, variables, facts, isInRepository, problems }: Planning,
  step: StepConfig,
  { id, number }: Pick<StepNode, 'id' | 'number'>,
  policyOf: (defaults: Policy, config: AgentConfig) => Policy,
): StepNode | undefined {
  const agent = collect(problems, () => resolveAgent(step.agent, request, facts))
  collect(problems, () => checkSpecs(step.agent, request, facts))
  const own = (step.args ?? []).map((arg) => variables.require(arg, `'${step.agent}'`))
  const loop = step.iterations === undefined ? {} : { loop: step.iterations }
  const builtIn = builtInVariables(request.run, { number, ...loop }, 1)
  const prompt = collect(problems, () => promptCandidates(request, step, builtIn, variables, facts))
  if (agent === undefined || prompt === undefined) return undefined
  const config = configOf(agent, request.agents)
  const policy = collect(problems, () => policyOf(defaultPolicy(agent, isInRepository), config))
  if (policy === undefined) return undefined
  const node: StepNode = {
    kind: 'step',
    id,
    number,
    ...(step.name === undefined ? {} : { name: step.name }),
    agent,
    cwd: request.cwd,
    ...loop,
    args: [...agentArgs(step.agent, request), ...request.args.map((arg) => [arg]), ...own],
    prompt,
    ...makePromptRules({ ...request, step, agent: config, isRaw: request.rawPrompt === true }),
    ...(goesOn(step.agent, number, request) ? { goesOnWithTasks: true } : {}),
    policy: request.grace === undefined ? policy : { ...policy, grace: request.grace },
  }
  collect(problems, () => {
    const { phases, where } = makeLaunch(node, builtIn, facts.readPrompt)
    problems.push(
      ...findTaskProblems(phases, where, (name) => void resolveAgent(name, request, facts)),
    )
  })
  return node
}
