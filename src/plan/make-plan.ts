import type { Problem } from '../base/errors.ts'
import type { ChainConfig, StepConfig } from '../parse/chains-schema.ts'
import { isBlank } from '../prompt/choose.ts'
import type { Facts } from './facts.ts'
import { makeLaunch } from './launch.ts'
import { builtInVariables, DEFAULT_GRACE, type Grace, type Plan, type StepNode } from './plan.ts'
import { collect, PlanError } from './problems.ts'
import { promptCandidates, type InlineOrFile } from './prompt-candidates.ts'
import { resolveAgent, type Agents } from './resolve-agent.ts'
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
  readonly grace?: Grace
}

/** The complete plan, or every reason why there is none. */
export function makePlan(
  request: Request,
  facts: Facts,
): { plan: Plan; warnings: readonly string[] } {
  const problems: Problem[] = []
  const variables = new Variables(request.variables)
  const steps = request.chain.steps.flatMap((step, index) => {
    const node = makeStep(request, step, index + 1, variables, facts, problems)
    return node === undefined ? [] : [node]
  })
  problems.push(...variables.problems)
  if (problems.length > 0) throw new PlanError(problems)
  const plan: Plan = {
    run: request.run,
    cwd: request.cwd,
    ...(request.name === undefined ? {} : { chain: request.name }),
    root: { kind: 'sequence', id: 'root', of: steps },
  }
  return { plan, warnings: [...variables.warnings, ...promptWarnings(request)] }
}

function promptWarnings({ cliPrompt: { prompt } }: Request): string[] {
  return prompt !== undefined && isBlank(prompt) ? ['The prompt of the command line is empty.'] : []
}

function makeStep(
  request: Request,
  step: StepConfig,
  number: number,
  variables: Variables,
  facts: Facts,
  problems: Problem[],
): StepNode | undefined {
  const agent = collect(problems, () => resolveAgent(step.agent, request, facts))
  const own = (step.args ?? []).map((arg) => variables.require(arg, `'${step.agent}'`))
  const loop = step.iterations === undefined ? {} : { loop: step.iterations }
  const builtIn = builtInVariables(request.run, { number, ...loop }, 1)
  const prompt = collect(problems, () => promptCandidates(request, step, builtIn, variables, facts))
  if (agent === undefined || prompt === undefined) return undefined
  const node: StepNode = {
    kind: 'step',
    id: `s${number}`,
    number,
    agent,
    cwd: request.cwd,
    ...loop,
    args: [...request.args.map((arg) => [arg]), ...own],
    prompt,
    grace: request.grace ?? DEFAULT_GRACE,
  }
  collect(problems, () => makeLaunch(node, builtIn, facts.readPrompt))
  return node
}
