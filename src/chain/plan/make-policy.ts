import { parseDuration } from '../../base/durations.ts'
import type { ResolvedAgent } from '../../engines/engine.ts'
import type { ChainPolicyConfig, PolicyConfig } from '../parse/policy-schema.ts'
import { changesCode } from './agent-role.ts'
import {
  DEFAULT_POLICY,
  DEFAULT_STALL,
  STRUCTURED_IDLE_MS,
  type Budget,
  type Grace,
  type OnFail,
  type Policy,
  type Retry,
} from './policy.ts'
import type { Node, Plan, StepNode } from './plan.ts'

/** The places that may set the policy of a step, by precedence. */
export interface PolicyLevels {
  readonly step: PolicyConfig
  readonly chain: ChainPolicyConfig
  readonly agent: PolicyConfig
}

/** The policy of an agent without any configuration. */
export function defaultPolicy({ engine }: ResolvedAgent, isInRepository: boolean): Policy {
  if (engine === 'binary') return DEFAULT_POLICY
  const stall = isInRepository ? DEFAULT_STALL : 0
  return { ...DEFAULT_POLICY, idleMs: STRUCTURED_IDLE_MS, stall }
}

/** Takes each field from the nearest level that has it; only `env` is merged. */
export function makePolicy(
  { step, chain, agent }: PolicyLevels,
  onFail: OnFail,
  defaults: Policy,
): Policy {
  const find = <Name extends keyof PolicyConfig>(name: Name): PolicyConfig[Name] =>
    step[name] ?? chain[name] ?? agent[name]
  // On a chain, these fields apply to the chain as a whole.
  const own = { ...dropUndefined(agent), ...dropUndefined(step) }
  const [until, maxWait] = [find('until'), find('maxWait')]
  const { timeoutMs, idleMs } = defaults
  return {
    verify: listOf(find('verify')) ?? defaults.verify,
    ...(until === undefined ? {} : { until }),
    ...(own.when === undefined ? {} : { when: own.when }),
    ...limit('timeoutMs', readLimit('timeout', find('timeout')) ?? timeoutMs),
    ...limit('idleMs', readLimit('idleTimeout', find('idleTimeout')) ?? idleMs),
    budget: makeBudget(own),
    retry: makeRetry(find('retry'), defaults.retry),
    maxWaitMs: maxWait === undefined ? defaults.maxWaitMs : readTime('maxWait', maxWait),
    stall: find('stall') ?? defaults.stall,
    onFail,
    hooks: dropUndefined(own.hooks ?? {}),
    env: { ...agent.env, ...chain.env, ...step.env },
    grace: makeGrace(find('grace'), defaults.grace),
  }
}

/** The policy of a chain as a whole. */
export function makeChainPolicy(chain: ChainPolicyConfig): Pick<Plan, 'budget' | 'when' | 'hooks'> {
  return {
    budget: makeBudget(chain),
    ...(chain.when === undefined ? {} : { when: chain.when }),
    hooks: dropUndefined(chain.hooks ?? {}),
  }
}

function makeBudget({ maxCostUsd, maxTokens, maxDuration }: PolicyConfig): Budget {
  return {
    ...(maxCostUsd === undefined ? {} : { costUsd: maxCostUsd }),
    ...(maxTokens === undefined ? {} : { tokens: maxTokens }),
    ...(maxDuration === undefined ? {} : { ms: readTime('maxDuration', maxDuration) }),
  }
}

function makeRetry(config: PolicyConfig['retry'], defaults: Retry): Retry {
  if (config === undefined) return defaults
  const { attempts, backoff, maxBackoff } = config
  const backoffMs = backoff === undefined ? defaults.backoffMs : readTime('retry.backoff', backoff)
  const longestMs =
    maxBackoff === undefined ? defaults.maxBackoffMs : readTime('retry.maxBackoff', maxBackoff)
  const forMs = config.for === undefined ? defaults.forMs : readTime('retry.for', config.for)
  return {
    ...(attempts === undefined ? limit('forMs', forMs) : { attempts }),
    backoffMs,
    maxBackoffMs: Math.max(backoffMs, longestMs),
  }
}

function makeGrace(config: PolicyConfig['grace'], defaults: Grace): Grace {
  const { marker, term } = config ?? {}
  return {
    markerMs: marker === undefined ? defaults.markerMs : readTime('grace.marker', marker),
    termMs: term === undefined ? defaults.termMs : readTime('grace.term', term),
  }
}

/** In whole milliseconds, rounded up so that a short time does not become zero. */
function readTime(field: string, text: string): number {
  return Math.ceil(parseDuration(text, field))
}

function readLimit(field: string, text: string | undefined): number | 'off' | undefined {
  return text === undefined || text === 'off' ? text : readTime(field, text)
}

/** A field that is absent if there is no limit. */
function limit<Name extends string>(
  name: Name,
  ms: number | 'off' | undefined,
): Partial<Record<Name, number>> {
  return ms === undefined || ms === 'off' ? {} : ({ [name]: ms } as Record<Name, number>)
}

function listOf(commands: string | readonly string[] | undefined): readonly string[] | undefined {
  return typeof commands === 'string' ? [commands] : commands
}

type Present<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

function dropUndefined<Fields extends object>(fields: Fields): Present<Fields> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as Present<Fields>
}

/** Options of the command line: limits for every step, gates for steps that change code, a budget for the run. */
export interface Overrides {
  readonly budget?: Budget
  readonly timeoutMs?: number | 'off'
  readonly idleMs?: number | 'off'
  readonly stall?: number
  readonly verify?: readonly string[]
  readonly until?: string
}

/** The fields of a chain that a resume may change. */
export type OverrideConfig = Pick<
  ChainPolicyConfig,
  | 'maxCostUsd'
  | 'maxTokens'
  | 'maxDuration'
  | 'timeout'
  | 'idleTimeout'
  | 'stall'
  | 'verify'
  | 'until'
>

export function makeOverrides(config: OverrideConfig): Overrides {
  const { timeout, idleTimeout, stall, verify, until } = config
  return dropUndefined({
    budget: makeBudget(config),
    timeoutMs: readLimit('timeout', timeout),
    idleMs: readLimit('idleTimeout', idleTimeout),
    stall,
    verify: listOf(verify),
    until,
  })
}

/** Applies the options of the command line. Recovery agents get the limits, but not the gates. */
export function applyOverrides(plan: Plan, overrides: Overrides): Plan {
  const { budget, verify: _, until: __, ...limits } = overrides
  return {
    ...plan,
    root: withOverrides(plan.root, overrides),
    recoveries: plan.recoveries.map((step) => withOverrides(step, limits)),
    budget: { ...plan.budget, ...budget },
  }
}

/** Removes the budgets of steps that would prevent them from using the new budget of the run. */
export function raiseBudgets(plan: Plan, budget: Budget): Plan {
  const raise = (step: StepNode): StepNode => {
    const left = Object.entries(step.policy.budget).filter(([kind]) => !(kind in budget))
    return { ...step, policy: { ...step.policy, budget: Object.fromEntries(left) } }
  }
  return { ...plan, root: mapSteps(plan.root, raise), recoveries: plan.recoveries.map(raise) }
}

function mapSteps<Of extends Node>(node: Of, change: (step: StepNode) => StepNode): Of
function mapSteps(node: Node, change: (step: StepNode) => StepNode): Node {
  if (node.kind === 'step') return change(node)
  return { ...node, of: node.of.map((part) => mapSteps(part, change)) }
}

function withOverrides<Of extends Node>(node: Of, overrides: Overrides): Of
function withOverrides(node: Node, overrides: Overrides): Node {
  if (node.kind === 'sequence') {
    return { ...node, of: node.of.map((part) => withOverrides(part, overrides)) }
  }
  const { budget: _, timeoutMs, idleMs, verify, until, ...rest } = overrides
  const { timeoutMs: oldTimeoutMs, idleMs: oldIdleMs, ...policy } = node.policy
  const gates = changesCode(node.agent) ? dropUndefined({ verify, until }) : {}
  return {
    ...node,
    policy: {
      ...policy,
      ...limit('timeoutMs', timeoutMs ?? oldTimeoutMs),
      ...limit('idleMs', idleMs ?? oldIdleMs),
      ...rest,
      ...gates,
    },
  }
}
