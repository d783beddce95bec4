import { isInRepository } from '../../base/repository.ts'
import { UserError } from '../../base/errors.ts'
import type { DirectAgent, Provider, ResolvedAgent } from '../../engines/engine.ts'
import { findModel, parseModel, type NamedModel } from '../../engines/native-models.ts'
import { configuredAgent } from '../../plan/direct-agent.ts'
import type { Facts } from '../../plan/facts.ts'
import { defaultPolicy, makePolicy } from '../../plan/make-policy.ts'
import type { Plan, StepNode } from '../../plan/plan.ts'
import type { Budget, Policy } from '../../plan/policy.ts'
import { checkKey } from '../../plan/native-agent.ts'
import { makePromptRules } from '../../plan/prompt-rules.ts'
import { configOf, resolveAgent } from '../../plan/resolve-agent.ts'
import type { WantedTask } from '../../run/ports.ts'
import type { Configuration } from '../../setup/configuration.ts'
import { lookAround } from '../../setup/facts.ts'
import { configurationOf } from './configuration.ts'
import { checkProgram, rightsOf, withinRights, withQueue } from './rights.ts'

type Environment = Readonly<Record<string, string>>

/** Says who works at the tasks of a run: the agents of its configuration, as they are now. */
export class SubAgents {
  readonly #plan: Plan
  readonly #facts: Facts
  #configuration: Promise<Configuration> | undefined

  constructor(plan: Plan, env: Environment) {
    this.#plan = plan
    this.#facts = lookAround(env)
  }

  async find(task: WantedTask, parent: string, pusher: StepNode | undefined): Promise<StepNode> {
    const { agent: name } = task.options
    const place = placeOf(pusher, this.#plan.cwd)
    const own = name === undefined ? ownKind(place, task, parent, pusher, this.#facts) : undefined
    const node = own ?? (await this.#named(name!, pusher))
    const rights = rightsOf(pusher)
    const limited = withinRights(withModel(node.agent, task, pusher?.agent), rights)
    const agent = withQueue(limited, rights)
    const taskBudget = lesser(node.taskBudget, pusher?.taskBudget)
    const policy = policyFor(task, node.policy, pusher?.policy)
    checkKey({ agent, policy }, this.#facts)
    return { ...node, agent, taskBudget, policy, ...(rights === undefined ? {} : { rights }) }
  }

  async #named(name: string, pusher: StepNode | undefined): Promise<StepNode> {
    const { cwd } = this.#plan
    this.#configuration ??= configurationOf(this.#plan)
    const { content, base } = await this.#configuration
    const agents = content.agents ?? {}
    const { prices } = content
    const known = {
      agents,
      cwd,
      base: cwd,
      agentBase: base,
      ...(prices === undefined ? {} : { prices }),
    }
    const agent = resolveAgent(name, known, this.#facts)
    if (!Object.hasOwn(agents, name)) checkProgram(agent, rightsOf(pusher))
    const config = configOf(agent, agents)
    const usual = defaultPolicy(agent, isInRepository(cwd))
    const defaults = pusher === undefined ? usual : likeParent(usual, agent, pusher)
    const policy = makePolicy({ step: {}, chain: {}, agent: config }, { kind: 'stop' }, defaults)
    const isRaw = pusher?.rawPrompt === true
    const rules = { step: {}, chain: {}, agent: config, base: cwd, agentBase: base, isRaw }
    const { reading: ownReading, ...ownRules } = makePromptRules(rules)
    const reading = { ...pusher?.reading, ...ownReading }
    return {
      ...placeOf(pusher, cwd),
      agent,
      args: (config.args ?? []).map((arg) => [arg]),
      ...ownRules,
      ...(Object.keys(reading).length === 0 ? {} : { reading }),
      policy,
      taskBudget: policy.budget,
    }
  }
}

/** Its place is that of whoever queued it: there its cost is counted. */
function placeOf(pusher: StepNode | undefined, cwd: string) {
  const { id = 's1', number = 1 } = pusher ?? {}
  return { kind: 'step' as const, id, number, cwd: pusher?.cwd ?? cwd, prompt: [] }
}

/** The kind of agent that queued it, without its system prompt; for a person, `claude`. */
function ownKind(
  place: ReturnType<typeof placeOf>,
  task: WantedTask,
  parent: string,
  pusher: StepNode | undefined,
  facts: Facts,
): StepNode {
  const text = introduce(task.name, parent)
  if (pusher === undefined) {
    const agent = forPerson(text, place.cwd, facts)
    return { ...place, agent, args: [], policy: defaultPolicy(agent, false) }
  }
  const { agent, args, policy, rawPrompt, reading } = pusher
  const rules = {
    ...(rawPrompt === undefined ? {} : { rawPrompt }),
    ...(reading === undefined ? {} : { reading }),
  }
  if (agent.engine === 'binary') return { ...place, agent, args, policy, ...rules }
  const { isBundled, finishesTasks: _, file: _file, ...rest } = agent
  // A bundled agent has arguments of its own, which `claude` does not know.
  const plain = { ...rest, systemPrompt: [{ text }] }
  return { ...place, agent: plain, args: isBundled === true ? [] : args, policy, ...rules }
}

function forPerson(text: string, cwd: string, facts: Facts): DirectAgent {
  try {
    return configuredAgent('claude', { systemPromptText: text }, cwd, facts)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const other = 'Or name another agent: push --agent.'
    const hint = error.hint === undefined ? other : `${error.hint}\n${other}`
    throw new UserError(`${error.message} The task names no other agent.`, hint)
  }
}

function introduce(name: string, parent: string): string {
  return [
    `You are ${name}, a sub-agent. ${parent} has given you one task: the message that follows.`,
    'You know nothing of the conversation of others, and they know nothing of yours.',
    `Your last message is your result: it goes to ${parent} by itself. Say in it what you did, what`,
    'you verified, and what you found. If something that you need is missing, say what, and end.',
    'You are started once for this task: you need not say that all is complete.',
  ].join('\n')
}

function withModel(
  agent: ResolvedAgent,
  { options }: WantedTask,
  parent: ResolvedAgent | undefined,
): ResolvedAgent {
  if (agent.engine === 'binary') return agent
  const inherited =
    agent.inheritsModel === true && parent?.engine === agent.engine ? parent.model : agent.model
  const model = options.model ?? inherited
  if (agent.engine === 'claude') return { ...agent, model }
  return { ...agent, ...(findModel(model) ?? ofProvider(agent.provider, model)) }
}

/** A bare id is one of the provider that the agent has; where any server may be meant, whatever it is. */
function ofProvider(provider: Provider, model: string): NamedModel {
  const isBare = !model.includes('/') || provider === 'compatible'
  return parseModel(isBare ? `${provider}/${model}` : model)
}

/** Of each amount the smaller one. */
function lesser(one: Budget = {}, other: Budget = {}): Budget {
  const budget: { -readonly [Name in keyof Budget]: Budget[Name] } = { ...other, ...one }
  for (const name of ['costUsd', 'tokens', 'ms'] as const) {
    const amounts = [one[name], other[name]].filter((amount) => amount !== undefined)
    if (amounts.length === 2) budget[name] = Math.min(...amounts)
  }
  return budget
}

/** What an agent does not say itself is as with its parent; what its silence means, only its kind knows. */
function likeParent(usual: Policy, { engine }: ResolvedAgent, { agent, policy }: StepNode): Policy {
  const { timeoutMs: _timeout, idleMs: usualIdle, ...rest } = usual
  const { timeoutMs, retry, maxWaitMs, grace } = policy
  const idleMs = policy.idleMs ?? (agent.engine === engine ? undefined : usualIdle)
  return {
    ...rest,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(idleMs === undefined ? {} : { idleMs }),
    retry,
    maxWaitMs,
    grace,
  }
}

/** What a step does beside its agent is not done for its tasks; its limits and budgets hold. */
function policyFor(task: WantedTask, own: Policy, parent: Policy = own): Policy {
  const { verify: _v, until: _u, when: _w, timeoutMs, ...rest } = own
  const limits = [task.options.timeoutMs, timeoutMs].filter((each) => each !== undefined)
  const limit = limits.length === 0 ? undefined : Math.min(...limits)
  return {
    ...rest,
    verify: [],
    ...(limit === undefined ? {} : { timeoutMs: limit }),
    budget: parent.budget,
    stall: 0,
    onFail: { kind: 'stop' },
    hooks: {},
    env: { ...parent.env, ...own.env },
  }
}
