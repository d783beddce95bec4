import { UserError, type Problem } from '../base/errors.ts'
import type { NativeAgent } from '../engines/engine.ts'
import { parseModel, VARIABLES } from '../engines/native-models.ts'
import { priceOf } from '../engines/prices.ts'
import { toolProblems } from '../engines/tool-names.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Facts } from './facts.ts'
import { stepsOf, type Plan, type StepNode } from './plan.ts'
import { collect, PlanError } from './problems.ts'

const DEFAULT_MODEL = 'sonnet'
const DEFAULT_MAX_TURNS = 100

/** An agent that this program plays itself. */
export function makeNativeAgent(
  name: string,
  systemPrompt: NativeAgent['systemPrompt'],
  config: AgentConfig,
  prices: NativeAgent['prices'],
): NativeAgent {
  const { allowedTools, disallowedTools, queue, baseUrl, apiKeyEnv, tools, maxOutputTokens } =
    config
  const { provider, model } = parseModel(config.model ?? DEFAULT_MODEL)
  const problems = toolProblems(config)
  if (problems.length > 0) {
    throw new PlanError(
      problems.map(({ message, hint }) => ({ message: `Agent '${name}': ${message}`, hint })),
    )
  }
  if (provider === 'compatible' && baseUrl === undefined) {
    throw new UserError(
      `Agent '${name}' has the model "${config.model}" and no "baseUrl".`,
      'Say where that service is, e.g. "baseUrl": "http://127.0.0.1:11434/v1".',
    )
  }
  return {
    engine: 'native',
    name,
    systemPrompt,
    provider,
    model,
    maxTurns: config.maxTurns ?? DEFAULT_MAX_TURNS,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKeyEnv === undefined ? {} : { apiKeyEnv }),
    ...(tools === undefined ? {} : { tools }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(allowedTools === undefined ? {} : { allowedTools }),
    ...(disallowedTools === undefined ? {} : { disallowedTools }),
    ...(queue === undefined ? {} : { queue }),
    ...(prices === undefined ? {} : { prices }),
  }
}

/** The variables of which one has to hold the key; none where a service needs no key. */
export function keyVariables({ provider, apiKeyEnv }: NativeAgent): readonly string[] {
  return apiKeyEnv === undefined ? VARIABLES[provider].keys : [apiKeyEnv]
}

/** A missing key is told before anything begins, and not by the first request. */
export function checkKey(
  { agent, policy }: Pick<StepNode, 'agent' | 'policy'>,
  facts: Facts,
): void {
  if (agent.engine !== 'native') return
  const names = keyVariables(agent)
  const isSet = (name: string) => Boolean(policy.env[name]?.trim()) || facts.hasVariable(name)
  if (names.length === 0 || names.some(isSet)) return
  const [first] = names
  const others = Object.values(VARIABLES).flatMap(({ keys: [key] }) => key ?? [])
  const rest = others.filter((name) => !names.includes(name)).join(' or ')
  throw new UserError(
    `Agent '${agent.name}' asks ${agent.model}, and ${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} not set.`,
    `Set it: export ${first}=…, or choose a model of another provider and set ${rest}. See: forkhestra doctor`,
  )
}

/** The same where nothing is to begin. */
export function keyWarnings({ root }: Pick<Plan, 'root'>, facts: Facts): string[] {
  const problems: Problem[] = []
  for (const step of stepsOf(root)) collect(problems, () => checkKey(step, facts))
  return [...new Set(problems.map(({ message }) => message))]
}

/** Of whom nobody knows what they cost, no budget in dollars can be kept. */
export function priceWarnings(
  steps: readonly StepNode[],
  { budget }: Pick<Plan, 'budget'>,
): string[] {
  const blind = steps.flatMap(({ agent, policy }) => {
    const isLimited = budget.costUsd !== undefined || policy.budget.costUsd !== undefined
    if (agent.engine !== 'native' || !isLimited) return []
    return priceOf(agent.model, agent.prices) === undefined ? [agent.model] : []
  })
  return [...new Set(blind)].map(
    (model) =>
      `Limits of cost do not count "${model}": no price is known. Write it into "prices" of the configuration.`,
  )
}
