import { join, resolve } from 'node:path'
import type { Problem } from '../../base/errors.ts'
import {
  findSpecs,
  REQUIREMENTS,
  requirementsMissing,
  specsMissing,
  specsUnfilled,
  type SpecsFolder,
} from '../builtins/specs.ts'
import { STARTER_SPECS } from '../builtins/starter-specs.ts'
import type { ResolvedAgent } from '../../engines/engine.ts'
import type { AgentConfig, ChainConfig, StepConfig } from '../parse/chains-schema.ts'
import type { Template } from '../parse/template.ts'
import { isBlank } from '../prompts/choose.ts'
import { plansTasks, withTaskCheck } from './agent-role.ts'
import { findTaskProblems } from './check-tasks.ts'
import { agentWarnings } from './claude-agent.ts'
import type { Prices } from './direct-agent.ts'
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
import { checkKey, priceWarnings } from './native-agent.ts'
import { makeOnFail } from './on-fail.ts'
import { builtInVariables, type Plan, type StepNode } from './plan.ts'
import type { Grace, Policy } from './policy.ts'
import { gateWarnings, policyWarnings } from './policy-warnings.ts'
import { collect, PlanError } from './problems.ts'
import { promptCandidates, type InlineOrFile } from './prompt-candidates.ts'
import { makePromptRules } from './prompt-rules.ts'
import {
  configOf,
  findBuiltIn,
  isBuiltIn,
  resolveAgent,
  type Agents,
  type Known,
} from './resolve-agent.ts'
import { Variables } from './variables.ts'

/** What the user asked for, parsed but not yet checked against the machine. */
export interface Request {
  readonly run: string
  readonly cwd: string
  /** Name of the chain, if it has one. */
  readonly name?: string | undefined
  readonly chain: ChainConfig
  readonly agents: Agents
  /** The base of relative paths in the chain. */
  readonly base: string
  /** The base of relative paths in the agents. */
  readonly agentBase: string
  /** From the command line. Steps of the library contain only built-in variables. */
  readonly variables: ReadonlyMap<string, string> | 'built-in only'
  /** Arguments for every agent. */
  readonly args: readonly string[]
  readonly cliPrompt: InlineOrFile
  readonly chainNames?: readonly string[]
  readonly commands?: Known['commands']
  /** Whether the chain is built in. */
  readonly isBuiltInChain?: boolean
  /** Overrides the configuration for every step. */
  readonly grace?: Grace
  readonly rawPrompt?: boolean
  /** From the command line; they override the configuration. */
  readonly overrides?: Overrides
  /** The configuration file that was read. */
  readonly configuration?: Plan['configuration']
  readonly queueLimits?: Plan['queueLimits']
  readonly prices?: Prices
}

/** What all parts of planning share. */
interface Planning {
  readonly request: Request
  readonly facts: Facts
  readonly variables: Variables
  readonly isInRepository: boolean
  readonly problems: Problem[]
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
  const planning = { request, facts, variables, isInRepository, problems, recoveries: [] }
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
    ...(name === undefined ? {} : { chain: name }),
    root: { kind: 'sequence', id: 'root', of: steps },
    recoveries: planning.recoveries,
    ...whole,
    ...(configuration === undefined ? {} : { configuration }),
    ...(queueLimits === undefined ? {} : { queueLimits }),
  }
  const plan = applyOverrides(made, request.overrides ?? {})
  const warnings = [
    ...shadowed,
    ...variables.warnings,
    ...promptWarnings(request),
    ...[...steps, ...planning.recoveries].flatMap(({ agent }) => warningsOf(agent, facts)),
    ...priceWarnings([...steps, ...planning.recoveries], plan),
    ...gateWarnings(plan, chain, request.overrides ?? {}),
    ...policyWarnings(plan, isInRepository),
  ]
  return { plan, warnings: [...new Set(warnings)] }
}

function warningsOf(agent: ResolvedAgent, facts: Facts): string[] {
  if (agent.engine === 'binary') return []
  const own = agent.engine === 'native' ? [] : agentWarnings(agent)
  return [...own, ...fileWarnings(agent, facts)]
}

/** Warnings about programs that are hidden by a built-in agent of the same name. */
function shadowWarnings(steps: readonly StepConfig[], request: Request, facts: Facts): string[] {
  return steps.flatMap(({ agent: name, iterations }) => {
    if (!isBuiltIn(name, request, facts)) return []
    const program = facts.programOnPath(name)
    if (program.kind === 'program')
      return [
        `'${name}' is the built-in agent, not ${program.path}; to run the program, type its path.`,
      ]
    const isTyped = request.name === undefined
    if (!isTyped || facts.programAt(resolve(request.base, name)).kind !== 'program') return []
    const command = `forkhestra ./${name}${iterations === undefined ? '' : `:${iterations}`}`
    return [`'${name}' is the built-in agent; there is also ./${name} here; to run it: ${command}`]
  })
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

/** A built-in planner needs specs. */
function checkSpecs(name: string, request: Request, facts: Facts): void {
  const builtIn = isBuiltIn(name, request, facts) ? findBuiltIn(name) : undefined
  if (builtIn?.plans !== true) return
  const { folder, isFilled } = lookAtSpecs(builtIn.specs, request, facts)
  if (folder === undefined) throw specsMissing(name, builtIn.specs)
  if (!isFilled) throw specsUnfilled(name, folder)
}

/** A task manager needs a prompt or specs, unless an earlier step may write them. */
function checkRequirements(
  { agent, number, prompt }: StepNode,
  request: Request,
  facts: Facts,
): void {
  const isManager = agent.engine !== 'binary' && agent.isBundled === true && plansTasks(agent)
  if (!isManager || number > 1 || prompt.length > 0) return
  if (!lookAtSpecs('forge/orch/specs', request, facts).isFilled) {
    throw requirementsMissing(agent.name)
  }
}

function lookAtSpecs(wanted: SpecsFolder, { cwd }: Request, facts: Facts) {
  const fileExists = (path: string) => facts.fileExists(join(cwd, path))
  const folder = findSpecs(wanted, fileExists)
  const isFilled = REQUIREMENTS.map((file) => `${folder}/${file}`).some(
    (path) => fileExists(path) && facts.readPrompt(path, cwd) !== STARTER_SPECS[path],
  )
  return { folder, isFilled }
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
  const args = [...agentArgs(step.agent, request), ...request.args.map((arg) => [arg]), ...own]
  const node: StepNode = {
    kind: 'step',
    id,
    number,
    ...(step.name === undefined ? {} : { name: step.name }),
    agent: withTaskCheck(agent, config, args, facts.readPrompt),
    cwd: request.cwd,
    ...loop,
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
  })
  return node
}
