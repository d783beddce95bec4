import { dropUndefined } from '../../base/objects.ts'
import { isInRepository } from '../../base/repository.ts'
import { UserError } from '../../base/errors.ts'
import type { DirectAgent, ResolvedAgent } from '../../engines/engine.ts'
import { engineOf } from '../../engines/registry.ts'
import { configuredAgent } from '../../chain/plan/direct-agent.ts'
import type { Facts } from '../../chain/plan/facts.ts'
import { defaultPolicy, makePolicy, makePromptRules } from '../../chain/plan/make-policy.ts'
import type { Plan, StepNode } from '../../chain/plan/plan.ts'
import type { Budget, Policy } from '../../chain/plan/policy.ts'
import { checkKey } from '../../chain/plan/checks.ts'
import { configOf, resolveAgent } from '../../chain/plan/resolve-agent.ts'
import type { WantedTask } from '../../run/ports.ts'
import type { Configuration } from '../configuration.ts'
import { readFacts } from '../facts.ts'
import { configurationOf, knownIn } from './configuration.ts'
import { checkProgram, rightsOf, withinRights, withQueueTools } from './rights.ts'

type Environment = Readonly<Record<string, string>>

/** Finds the agent for each task, in the current configuration. */
export class SubAgents {
  readonly #plan: Plan
  readonly #env: Environment
  readonly #facts: Facts
  #configuration: Promise<Configuration> | undefined

  constructor(plan: Plan, env: Environment) {
    this.#plan = plan
    this.#env = env
    this.#facts = readFacts(env)
  }

  async find(task: WantedTask, parent: string, pusher: StepNode | undefined): Promise<StepNode> {
    const { agent: name } = task.options
    const place = placeOf(pusher, this.#plan.cwd)
    const own =
      name === undefined ? sameKindAsPusher(place, task, parent, pusher, this.#facts) : undefined
    const node = own ?? (await this.#named(name!, pusher))
    const rights = rightsOf(pusher)
    const limited = withinRights(withModel(node.agent, task, pusher?.agent), rights)
    const agent = withQueueTools(limited, rights)
    const taskBudget = smallerBudget(node.taskBudget, pusher?.taskBudget)
    const policy = policyFor(task, node.policy, pusher?.policy)
    checkKey({ agent, policy }, this.#facts)
    return { ...node, agent, taskBudget, policy, ...(rights === undefined ? {} : { rights }) }
  }

  async #named(name: string, pusher: StepNode | undefined): Promise<StepNode> {
    const { cwd } = this.#plan
    this.#configuration ??= configurationOf(this.#plan, this.#env)
    const known = knownIn(await this.#configuration, cwd)
    const { agents, agentBase } = known
    const agent = resolveAgent(name, known, this.#facts)
    if (!Object.hasOwn(agents, name)) checkProgram(agent, rightsOf(pusher))
    const config = configOf(agent, agents)
    const usual = defaultPolicy(agent, isInRepository(cwd))
    const defaults = pusher === undefined ? usual : withParentDefaults(usual, agent, pusher)
    const policy = makePolicy({ step: {}, chain: {}, agent: config }, { kind: 'stop' }, defaults)
    const isRaw = pusher?.rawPrompt === true
    const rules = { step: {}, chain: {}, agent: config, base: cwd, agentBase, isRaw }
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

/** A task belongs to the step of its pusher, where its cost is counted. */
function placeOf(pusher: StepNode | undefined, cwd: string) {
  const { id = 's1', number = 1, within, copy } = pusher ?? {}
  const place = { id, number, ...dropUndefined({ within, copy }) }
  return { kind: 'step' as const, ...place, cwd: pusher?.cwd ?? cwd, prompt: [] }
}

/** The same kind of agent as the pusher, without its system prompt; `claude` if the user is the pusher. */
function sameKindAsPusher(
  place: ReturnType<typeof placeOf>,
  task: WantedTask,
  parent: string,
  pusher: StepNode | undefined,
  facts: Facts,
): StepNode {
  const text = introduce(task.name, parent)
  if (pusher === undefined) {
    const agent = makePersonsAgent(text, place.cwd, facts)
    return { ...place, agent, args: [], policy: defaultPolicy(agent, false) }
  }
  const { agent, args, policy, rawPrompt, reading } = pusher
  const rules = dropUndefined({ rawPrompt, reading })
  if (agent.engine === 'binary') return { ...place, agent, args, policy, ...rules }
  const { isBundled, finishesTasks: _, file: _file, ...rest } = agent
  // `claude` does not know the arguments of a bundled agent.
  const plain = { ...rest, systemPrompt: [{ text }] }
  return { ...place, agent: plain, args: isBundled === true ? [] : args, policy, ...rules }
}

/** The agent for tasks that the user pushes without naming one: `claude`. */
export function makePersonsAgent(text: string, cwd: string, facts: Facts): DirectAgent {
  try {
    return configuredAgent('claude', { systemPromptText: text }, { cwd, agentBase: cwd }, facts)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const { problems } = error
    const messages = problems.map(({ message }) => message)
    const hints = problems.flatMap(({ hint }) => hint ?? [])
    throw new UserError(
      [...messages, 'The task does not name another agent.'].join(' '),
      [...hints, 'Or name another agent: push --agent.'].join('\n'),
    )
  }
}

function introduce(name: string, parent: string): string {
  return [
    `You are ${name}, a sub-agent. ${parent} has given you one task: the message that follows.`,
    'You cannot see the conversations of other agents, and they cannot see yours.',
    `Your last message is delivered to ${parent} automatically. Say in it what you did, what you`,
    'verified, and what you found. If something that you need is missing, say what, and stop.',
    'You are started once for this task. Do not print a completion marker.',
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
  return engineOf(agent).withModel(agent, options.model ?? inherited)
}

function smallerBudget(one: Budget = {}, other: Budget = {}): Budget {
  const budget: { -readonly [Name in keyof Budget]: Budget[Name] } = { ...other, ...one }
  for (const name of ['costUsd', 'tokens', 'ms'] as const) {
    const amounts = [one[name], other[name]].filter((amount) => amount !== undefined)
    if (amounts.length === 2) budget[name] = Math.min(...amounts)
  }
  return budget
}

/** Settings that the agent does not set are inherited; the idle timeout only from the same engine. */
function withParentDefaults(
  usual: Policy,
  { engine }: ResolvedAgent,
  { agent, policy }: StepNode,
): Policy {
  const { timeoutMs: _timeout, idleMs: usualIdle, ...rest } = usual
  const { timeoutMs, retry, maxWaitMs, grace } = policy
  const idleMs = policy.idleMs ?? (agent.engine === engine ? undefined : usualIdle)
  return { ...rest, ...dropUndefined({ timeoutMs, idleMs }), retry, maxWaitMs, grace }
}

/** Tasks have no gates and hooks, but the limits and budgets of their step apply. */
function policyFor(task: WantedTask, own: Policy, parent: Policy = own): Policy {
  const { verify: _v, until: _u, when: _w, timeoutMs, ...rest } = own
  const limits = [task.options.timeoutMs, timeoutMs].filter((each) => each !== undefined)
  const limit = limits.length === 0 ? undefined : Math.min(...limits)
  return {
    ...rest,
    verify: [],
    ...dropUndefined({ timeoutMs: limit }),
    budget: parent.budget,
    stall: 0,
    onFail: { kind: 'stop' },
    hooks: {},
    env: { ...parent.env, ...own.env },
  }
}
