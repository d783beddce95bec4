import { resolve } from 'node:path'
import { dropUndefined } from '../../base/objects.ts'
import { parseDuration } from '../../base/durations.ts'
import { UserError } from '../../base/errors.ts'
import type { ResolvedAgent } from '../../engines/engine.ts'
import type { ItemConfig } from '../parse/chains-schema.ts'
import type { ChainPolicyConfig, OnFailConfig, PolicyConfig } from '../parse/policy-schema.ts'
import { describeTargets, findStep } from '../parse/step-targets.ts'
import type { Plan, StepNode } from './plan.ts'
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

/** The places that may set the policy of a step, by precedence. */
interface PolicyLevels {
  readonly step: PolicyConfig
  readonly chain: ChainPolicyConfig
  readonly agent: PolicyConfig
}

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
  const { timeoutMs, idleMs } = defaults
  return {
    verify: listOf(find('verify')) ?? defaults.verify,
    ...dropUndefined({ until: find('until'), when: own.when }),
    ...limit('timeoutMs', readLimit('timeout', find('timeout')) ?? timeoutMs),
    ...limit('idleMs', readLimit('idleTimeout', find('idleTimeout')) ?? idleMs),
    budget: makeBudget(own),
    retry: makeRetry(find('retry'), defaults.retry),
    maxWaitMs: readTime('maxWait', find('maxWait')) ?? defaults.maxWaitMs,
    stall: find('stall') ?? defaults.stall,
    onFail,
    hooks: dropUndefined(own.hooks ?? {}),
    env: { ...agent.env, ...chain.env, ...step.env },
    grace: makeGrace(find('grace'), defaults.grace),
  }
}

export function makeChainPolicy(chain: ChainPolicyConfig): Pick<Plan, 'budget' | 'when' | 'hooks'> {
  return {
    budget: makeBudget(chain),
    ...dropUndefined({ when: chain.when }),
    hooks: dropUndefined(chain.hooks ?? {}),
  }
}

export function makeBudget({ maxCostUsd, maxTokens, maxDuration }: PolicyConfig): Budget {
  const ms = readTime('maxDuration', maxDuration)
  return dropUndefined({ costUsd: maxCostUsd, tokens: maxTokens, ms })
}

function makeRetry(config: PolicyConfig['retry'], defaults: Retry): Retry {
  const { attempts, backoff, maxBackoff, for: time } = config ?? {}
  const backoffMs = readTime('retry.backoff', backoff) ?? defaults.backoffMs
  const maxBackoffMs = readTime('retry.maxBackoff', maxBackoff) ?? defaults.maxBackoffMs
  const forMs = readTime('retry.for', time) ?? defaults.forMs
  return {
    ...dropUndefined(attempts === undefined ? { forMs } : { attempts }),
    backoffMs,
    maxBackoffMs: Math.max(backoffMs, maxBackoffMs),
  }
}

function makeGrace(config: PolicyConfig['grace'], defaults: Grace): Grace {
  return {
    markerMs: readTime('grace.marker', config?.marker) ?? defaults.markerMs,
    termMs: readTime('grace.term', config?.term) ?? defaults.termMs,
  }
}

/** Whole milliseconds, rounded up so that a short time does not become zero. */
function readTime(field: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : Math.ceil(parseDuration(text, field))
}

export function readLimit(field: string, text: string | undefined): number | 'off' | undefined {
  return text === 'off' ? text : readTime(field, text)
}

/** A field that is absent if there is no limit. */
export function limit<Name extends string>(
  name: Name,
  ms: number | 'off' | undefined,
): Partial<Record<Name, number>> {
  return ms === undefined || ms === 'off' ? {} : ({ [name]: ms } as Record<Name, number>)
}

export function listOf(
  commands: string | readonly string[] | undefined,
): readonly string[] | undefined {
  return typeof commands === 'string' ? [commands] : commands
}

/** Possible targets of an `onFail`: the items of its list, with the number of their first step. */
export interface Targets {
  readonly items: readonly ItemConfig[]
  readonly numbers: readonly number[]
}

/** What happens if an item is not complete; `planRecovery` returns the number of a recovery agent. */
export function makeOnFail(
  config: OnFailConfig,
  { items, numbers }: Targets,
  place: { readonly owner: string; readonly chain: string | undefined },
  planRecovery: (agent: string) => number,
): OnFail {
  if (typeof config === 'string') return { kind: config }
  if ('run' in config) return { kind: 'run', step: planRecovery(config.run) }
  const target = findStep(config.goto, items)
  if (target !== undefined)
    return { kind: 'goto', step: numbers[target - 1]!, times: config.times ?? 1 }
  const where = place.chain === undefined ? 'the chain' : `chain '${place.chain}'`
  throw new UserError(
    `"onFail" of ${place.owner} goes to step '${config.goto}', which does not exist in ${where}.`,
    `Write ${describeTargets(items)}.`,
  )
}

export function chooseOnFail({ step, chain, agent }: PolicyLevels): OnFailConfig {
  return step.onFail ?? chain.onFail ?? agent.onFail ?? 'stop'
}

interface PromptLevels extends PolicyLevels {
  /** The base of relative paths in step and chain. */
  readonly base: string
  readonly agentBase: string
  /** Whether the command line disables commands in prompts. */
  readonly isRaw: boolean
}

/** Whether the prompt of a step has commands, and what they may read; the nearest level wins. */
export function makePromptRules(levels: PromptLevels): Pick<StepNode, 'rawPrompt' | 'reading'> {
  const { step, chain, agent, base, agentBase, isRaw } = levels
  const rawPrompt = isRaw || (step.rawPrompt ?? chain.rawPrompt ?? agent.rawPrompt)
  const near = step.readRoots ?? chain.readRoots
  const reading = dropUndefined({
    limitBytes: step.readLimit ?? chain.readLimit ?? agent.readLimit,
    roots:
      near?.map((root) => resolve(base, root)) ??
      agent.readRoots?.map((root) => resolve(agentBase, root)),
  })
  return {
    ...(rawPrompt === true ? { rawPrompt } : {}),
    ...(Object.keys(reading).length === 0 ? {} : { reading }),
  }
}
