import { UserError } from '../../base/errors.ts'
import { parseModel, VARIABLES } from '../../engines/native-models.ts'
import type { NativeAgent, Provider, ResolvedAgent } from '../../engines/engine.ts'
import type { AgentConfig } from '../../parse/chains-schema.ts'
import { getsQueue } from '../../plan/direct-agent.ts'
import type { Facts } from '../../plan/facts.ts'
import type { Plan, StepNode } from '../../plan/plan.ts'
import { isBuiltIn, type Agents } from '../../plan/resolve-agent.ts'
import { contentOnly } from '../../prompt/read-phases.ts'
import type { Input } from '../command.ts'

/** What the agent is called where nobody names one. */
const NAME = 'chat'

const PROMPT =
  'You are a software engineer who works together with the person in the project in the working directory. Read before you change something, and verify what you have changed.'

/** The model of each provider where nobody names one; that of the first whose key is set. */
const MODELS: readonly (readonly [Provider, string])[] = [
  ['anthropic', 'sonnet'],
  ['openai', 'openai/gpt-6.1-sol'],
  ['google', 'google/gemini-2.5-pro'],
]

/** The agents of the configuration, with the one that is to be talked to, and its name. */
export function withChatAgent(
  input: Input,
  word: string | undefined,
  agents: Agents,
  facts: Facts,
  cwd: string,
): { readonly name: string; readonly agents: Agents } {
  const name = word ?? NAME
  const known = Object.hasOwn(agents, name) ? agents[name] : undefined
  const config = known ?? (word === undefined ? defaultAgent(facts) : undefined)
  // Told before it is asked for what that one needs.
  const place = { agents, cwd, base: cwd, agentBase: cwd }
  if (config?.engine !== 'native' && isBuiltIn(name, place, facts)) throw notNative(name, CLAUDE)
  if (config === undefined) return { name, agents }
  return { name, agents: { ...agents, [name]: { ...config, ...given(input) } } }
}

function defaultAgent(facts: Facts): AgentConfig {
  const isSet = ([provider]: (typeof MODELS)[number]) =>
    VARIABLES[provider].keys.some((key) => facts.hasVariable(key))
  const [, model] = MODELS.find(isSet) ?? MODELS[0]!
  return { engine: 'native', model, systemPromptText: PROMPT }
}

function given(input: Input): Pick<AgentConfig, 'model' | 'baseUrl'> {
  const [model, baseUrl] = [input.text('model'), input.text('base-url')]
  return {
    ...(model === undefined ? {} : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  }
}

/** The plan of a chat: one step, whose agent a person talks to. */
export function asChat(plan: Plan): Plan {
  return withStep(plan, (step) => {
    const agent = mustBeNative(step.agent)
    // Whatever a turn wants to be queued, the tools stay the same in a conversation.
    const queue = agent.queue ?? getsQueue(agent, contentOnly(''))
    return { ...step, agent: { ...agent, queue }, prompt: [] }
  })
}

/** The same chat with another model. */
export function withModel(plan: Plan, input: Input): Plan {
  const { model, baseUrl } = given(input)
  return withStep(plan, (step) => {
    const agent = mustBeNative(step.agent)
    const other = model === undefined ? {} : parseModel(model)
    return { ...step, agent: { ...agent, ...other, ...(baseUrl === undefined ? {} : { baseUrl }) } }
  })
}

function withStep(plan: Plan, change: (step: StepNode) => StepNode): Plan {
  const of = plan.root.of.map((node) => (node.kind === 'step' ? change(node) : node))
  return { ...plan, isChat: true, root: { ...plan.root, of } }
}

const CLAUDE = 'claude plays it'

function mustBeNative(agent: ResolvedAgent): NativeAgent {
  if (agent.engine === 'native') return agent
  const kind = agent.engine === 'claude' ? CLAUDE : `it is the program ${agent.program}`
  throw notNative(agent.name, kind)
}

function notNative(name: string, kind: string): UserError {
  return new UserError(
    `A person can only talk to the built-in agent, and '${name}' is another one: ${kind}.`,
    `Give it "engine": "native" in the configuration, or write: forkhestra run ${name}`,
  )
}
