import { dropUndefined, own } from '../../base/objects.ts'
import { UserError } from '../../base/errors.ts'
import { parseModel, VARIABLES } from '../../engines/native/model-names.ts'
import type { NativeAgent, Provider, ResolvedAgent } from '../../engines/engine.ts'
import type { AgentConfig } from '../../chain/parse/chains-schema.ts'
import { getsQueue } from '../../chain/plan/direct-agent.ts'
import type { Facts } from '../../chain/plan/facts.ts'
import type { Plan, StepNode } from '../../chain/plan/plan.ts'
import { isBuiltIn, type Agents } from '../../chain/plan/resolve-agent.ts'
import { contentOnly } from '../../chain/prompts/read-phases.ts'

/** Overrides the configuration. */
export type ChosenModel = Pick<AgentConfig, 'model' | 'baseUrl'>

const NAME = 'chat'

const PROMPT =
  'You are a software engineer working with the user on the project in the working directory. Read code before you change it, and verify your changes.'

/** The default model of each provider; the first provider with a key is used. */
const MODELS: readonly (readonly [Provider, string])[] = [
  ['anthropic', 'sonnet'],
  ['openai', 'openai/gpt-6.1-sol'],
  ['google', 'google/gemini-2.5-pro'],
]

/** Adds the agent of a chat to the configured ones. */
export function withChatAgent(
  { model, baseUrl }: ChosenModel,
  word: string | undefined,
  agents: Agents,
  facts: Facts,
  cwd: string,
): { readonly name: string; readonly agents: Agents } {
  const name = word ?? NAME
  const known = own(agents, name)
  const config = known ?? (word === undefined ? defaultAgent(facts) : undefined)
  // Checked first, because problems of an agent that runs in claude do not matter here.
  const place = { agents, cwd, base: cwd, agentBase: cwd }
  if (config?.engine !== 'native' && isBuiltIn(name, place, facts)) throw notNative(name, CLAUDE)
  if (config === undefined) return { name, agents }
  const chosen = dropUndefined({ model, baseUrl })
  return { name, agents: { ...agents, [name]: { ...config, ...chosen } } }
}

function defaultAgent(facts: Facts): AgentConfig {
  const isSet = ([provider]: (typeof MODELS)[number]) =>
    VARIABLES[provider].keys.some((key) => facts.hasVariable(key))
  const [, model] = MODELS.find(isSet) ?? MODELS[0]!
  return { engine: 'native', model, systemPromptText: PROMPT }
}

/** The plan of a chat: one step without a prompt. */
export function asChat(plan: Plan): Plan {
  return withStep(plan, (step) => {
    const agent = mustBeNative(step.agent)
    // The tools stay the same for the whole conversation.
    const queue = agent.queue ?? getsQueue(agent, contentOnly(''))
    return { ...step, agent: { ...agent, queue }, prompt: [] }
  })
}

/** The same chat with another model. */
export function withModel(plan: Plan, { model, baseUrl }: ChosenModel): Plan {
  return withStep(plan, (step) => {
    const other = model === undefined ? {} : parseModel(model)
    const agent = { ...mustBeNative(step.agent), ...other, ...dropUndefined({ baseUrl }) }
    return { ...step, agent }
  })
}

function withStep(plan: Plan, change: (step: StepNode) => StepNode): Plan {
  const of = plan.root.of.map((node) => (node.kind === 'step' ? change(node) : node))
  return { ...plan, isChat: true, root: { ...plan.root, of } }
}

const CLAUDE = 'it runs in claude'

function mustBeNative(agent: ResolvedAgent): NativeAgent {
  if (agent.engine === 'native') return agent
  const kind = agent.engine === 'claude' ? CLAUDE : `it is the program ${agent.program}`
  throw notNative(agent.name, kind)
}

function notNative(name: string, kind: string): UserError {
  return new UserError(
    `chat works with native agents only, and '${name}' is not one: ${kind}.`,
    `Give it "engine": "native" in the configuration, or use: forkhestra run ${name}`,
  )
}
