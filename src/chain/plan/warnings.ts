import { resolve } from 'node:path'
import { isBlank } from '../parse/prompt/parse-command.ts'
import { isMcpTool } from '../../engines/claude/engine.ts'
import type { ClaudeAgent, DirectAgent } from '../../engines/engine.ts'
import { priceOf } from '../../engines/prices.ts'
import { BUILT_IN_AGENTS } from '../builtins/agents.ts'
import type { StepConfig } from '../parse/chains-schema.ts'
import { changesCode } from './agent-role.ts'
import { branchWarnings } from './branches.ts'
import { commandWarnings } from './command-warnings.ts'
import { BYPASS } from './direct-agent.ts'
import type { Facts } from './facts.ts'
import type { Request } from './request.ts'
import { stepsOf, type Plan, type StepNode } from './plan.ts'
import type { Budget, Policy } from './policy.ts'
import { isBuiltIn } from './resolve-agent.ts'

/** Warnings about what may surprise the user in a run. */
export function planWarnings(plan: Plan, request: Request, facts: Facts): string[] {
  const steps = [...stepsOf(plan.root), ...plan.recoveries]
  const { prompt } = request.cliPrompt
  return [
    ...(prompt !== undefined && isBlank(prompt)
      ? ['The prompt on the command line is empty.']
      : []),
    ...steps.flatMap(({ agent }) => [
      ...(agent.engine === 'claude' ? toolWarnings(agent) : []),
      ...(agent.engine === 'binary' ? [] : fileWarnings(agent, facts)),
    ]),
    ...priceWarnings(steps, plan),
    ...gateWarnings(plan, request),
    ...commandWarnings(plan, facts),
    ...branchWarnings(plan, request.branching ?? {}, facts),
    ...policyWarnings(plan, steps, facts.isInRepository(plan.cwd)),
  ]
}

/** Warnings about programs that are hidden by a built-in agent of the same name. */
export function shadowWarnings(
  steps: readonly StepConfig[],
  request: Request,
  facts: Facts,
): string[] {
  return steps.flatMap(({ agent: name, iterations }) => {
    if (!isBuiltIn(name, request, facts)) return []
    const program = facts.programOnPath(name)
    if (program.kind === 'program')
      return [
        `'${name}' is the built-in agent, not ${program.path}; to run the program, type its path.`,
      ]
    const { here } = request
    if (here === undefined || facts.programAt(resolve(here, name)).kind !== 'program') return []
    const command = `forkhestra ./${name}${iterations === undefined ? '' : `:${iterations}`}`
    return [`'${name}' is the built-in agent; there is also ./${name} here; to run it: ${command}`]
  })
}

/** Warnings about tool lists that cannot be enforced. */
function toolWarnings(agent: ClaudeAgent): string[] {
  const { name, allowedTools = [], permissionMode = BYPASS } = agent
  if (permissionMode !== BYPASS) return []
  return [
    ...allowedTools
      .filter(isMcpTool)
      .map(
        (tool) => `agent '${name}': it can call every tool of its MCP servers, not only "${tool}".`,
      ),
    ...allowedTools
      .filter((tool) => tool.includes('('))
      .map(
        (tool) =>
          `agent '${name}': "${tool}" cannot be enforced without permission prompts; the whole tool is allowed.`,
      ),
  ]
}

/** Warnings about other agents and programs with the same name. */
export function fileWarnings({ name, file }: DirectAgent, facts: Facts): string[] {
  if (file === undefined) return []
  if (Object.hasOwn(BUILT_IN_AGENTS, name)) {
    return [`'${name}' is ${file} here, not the built-in agent.`]
  }
  const program = facts.programOnPath(name)
  return program.kind === 'program'
    ? [`'${name}' is ${file} here, not ${program.path}; to run the program, write its path.`]
    : []
}

/** Warnings about models without a known price, for which a cost limit has no effect. */
function priceWarnings(steps: readonly StepNode[], { budget }: Pick<Plan, 'budget'>): string[] {
  const blind = steps.flatMap(({ agent, policy }) => {
    const isLimited = budget.costUsd !== undefined || policy.budget.costUsd !== undefined
    if (agent.engine !== 'native' || !isLimited) return []
    return priceOf(agent.model, agent.prices) === undefined ? [agent.model] : []
  })
  return [...new Set(blind)].map(
    (model) =>
      `cost limits do not apply to "${model}": its price is unknown. Add it to "prices" in the configuration.`,
  )
}

/** Warnings about gates that apply to fewer or more steps than the user may expect. */
function gateWarnings({ root }: Plan, { chain, overrides = {} }: Request): string[] {
  const { verify, until } = overrides
  const steps = stepsOf(root)
  const isGated = steps.some(({ agent }) => changesCode(agent))
  const given = [...(verify === undefined ? [] : ['--verify']), ...(until ? ['--until'] : [])]
  const spared = isGated ? steps.filter(({ agent }) => !changesCode(agent)) : []
  const inherits = chain.verify === undefined ? [] : spared.filter(({ policy }) => isFrom(policy))
  return [
    ...(isGated ? [] : given.map((name) => `${name} has no effect: no step changes code`)),
    ...inherits.map(
      ({ number, agent }) =>
        `"verify" of the chain also applies to step ${number} (${agent.name}), which does not change code; put it on the steps that do`,
    ),
  ]

  function isFrom(policy: Policy): boolean {
    const commands = typeof chain.verify === 'string' ? [chain.verify] : chain.verify
    return JSON.stringify(policy.verify) === JSON.stringify(commands)
  }
}

/** Warnings about limits with less effect than the user may expect. */
function policyWarnings(plan: Plan, steps: readonly StepNode[], isInRepository: boolean): string[] {
  const limitsUsage = ({ costUsd, tokens }: Budget) => (costUsd ?? tokens) !== undefined
  const silent = steps.filter(
    ({ agent, policy }) =>
      agent.engine === 'binary' && [plan.budget, policy.budget].some(limitsUsage),
  )
  const names = [...new Set(silent.map(({ agent }) => `'${agent.name}'`))]
  const isBlind =
    !isInRepository && steps.some(({ loop, policy }) => loop !== undefined && policy.stall > 0)
  return [
    ...(names.length === 0
      ? []
      : [`budgets cannot see ${names.join(', ')}: plain programs do not report usage`]),
    ...(isBlind
      ? [
          `${plan.cwd} is not in a git repository: "stall" sees only tasks, gates and outcomes as progress`,
        ]
      : []),
  ]
}
