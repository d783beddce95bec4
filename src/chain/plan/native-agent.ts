import { SCRIPTED_MODEL } from '../../base/scripted-model.ts'
import { UserError, type Problem } from '../../base/errors.ts'
import type { NativeAgent } from '../../engines/engine.ts'
import { keyVariables, parseModel, VARIABLES } from '../../engines/native/model-names.ts'
import { priceOf } from '../../engines/prices.ts'
import { toolProblems } from '../../engines/tool-names.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Facts } from './facts.ts'
import { stepsOf, type Plan, type StepNode } from './plan.ts'
import { collect, PlanError } from './problems.ts'

const DEFAULT_MODEL = 'sonnet'
const DEFAULT_MAX_TURNS = 100

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
      `Agent '${name}' has the model "${config.model}", but no "baseUrl".`,
      'Add the address of the service, for example "baseUrl": "http://127.0.0.1:11434/v1".',
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

/** Refuses a missing API key before the run starts. */
export function checkKey(
  { agent, policy }: Pick<StepNode, 'agent' | 'policy'>,
  facts: Facts,
): void {
  if (agent.engine !== 'native') return
  const names = keyVariables(agent)
  const isSet = (name: string) => Boolean(policy.env[name]?.trim()) || facts.hasVariable(name)
  if (names.length === 0 || names.some(isSet)) return
  // `fake-model` hides the user's own login and sets one only if the script has a "limit".
  const isSubscription =
    facts.hasVariable(SCRIPTED_MODEL) && facts.hasVariable('CLAUDE_CODE_OAUTH_TOKEN')
  if (isSubscription && names.includes('ANTHROPIC_API_KEY')) {
    throw new UserError(
      `Agent '${agent.name}' needs an API key, and "limit" in the script plays a subscription, which has none.`,
      'Use "error" instead, which native agents wait for as well: { "error": { "status": 429, "headers": { "retry-after": "20" } } }',
    )
  }
  const [first] = names
  const others = Object.values(VARIABLES).flatMap(({ keys: [key] }) => key ?? [])
  const rest = others.filter((name) => !names.includes(name)).join(' or ')
  throw new UserError(
    `Agent '${agent.name}' uses ${agent.model}, but ${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} not set.`,
    `Set it: export ${first}=…, or choose a model of another provider and set ${rest}. See: forkhestra doctor`,
  )
}

/** Missing API keys as warnings, for a check without a run. */
export function keyWarnings({ root }: Pick<Plan, 'root'>, facts: Facts): string[] {
  const problems: Problem[] = []
  for (const step of stepsOf(root)) collect(problems, () => checkKey(step, facts))
  return [...new Set(problems.map(({ message }) => message))]
}

/** Warnings about models without a known price, for which a cost limit has no effect. */
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
      `cost limits do not apply to "${model}": its price is unknown. Add it to "prices" in the configuration.`,
  )
}
