import { formatMoney } from '../../base/amounts.ts'
import { unreachable } from '../../base/errors.ts'
import { changesCode } from './agent-role.ts'
import { defaultPolicy } from './make-policy.ts'
import type { Overrides } from './overrides.ts'
import { stepsOf, type Plan, type StepNode } from './plan.ts'
import type { Budget, Hooks, OnFail, Policy, Retry } from './policy.ts'

/** A setting of a plan for people, such as `budget` and `$5.00, 2 h`. */
export interface PolicyLine {
  readonly label: string
  readonly words: string
}

/** The settings of the chain as a whole. */
export function chainLines({ when, budget, hooks }: Plan): PolicyLine[] {
  return [...optional('when', when), ...budgetLines(budget), ...hookLines(hooks)]
}

/**
 * All limits of a step in one line, and other settings if they differ from the defaults of its agent;
 * with `isComplete`, every setting in a line of its own.
 */
export function stepLines(
  step: StepNode,
  plan: Plan,
  {
    isInRepository,
    isComplete,
  }: { readonly isInRepository: boolean; readonly isComplete: boolean },
): PolicyLine[] {
  const isLoop = step.loop !== undefined
  const name = optional('name', step.name)
  const gates = gateLines(step.policy)
  const others = otherLines(step.policy, plan)
  if (isComplete) return [...name, ...gates, ...limitLines(step.policy, isLoop), ...others]
  const usual = otherLines(defaultPolicy(step.agent, isInRepository), plan)
  const isUsual = ({ label, words }: PolicyLine) =>
    usual.some((line) => line.label === label && line.words === words)
  const limits = { label: 'limits', words: allLimits(step.policy, isLoop) }
  return [...name, ...gates, limits, ...others.filter((line) => !isUsual(line))]
}

/** Gates of the command line that do not apply to a step. */
export function exemptLines(
  { agent }: StepNode,
  overrides: Pick<Overrides, 'verify' | 'until'>,
): PolicyLine[] {
  if (changesCode(agent)) return []
  const words = 'not for this step, which does not change code'
  const labels = ['verify', 'until'] as const
  return labels.flatMap((label) =>
    overrides[label] === undefined ? [] : [{ label: `--${label}`, words }],
  )
}

function gateLines({ when, verify, until }: Policy): PolicyLine[] {
  const checks = verify.map((command) => ({ label: 'verify', words: command }))
  return [...optional('when', when), ...checks, ...optional('until', until)]
}

function limitLines(policy: Policy, isLoop: boolean): PolicyLine[] {
  return [
    { label: 'time limit', words: describeLimit(policy.timeoutMs) },
    { label: 'silence limit', words: describeLimit(policy.idleMs) },
    ...budgetLines(policy.budget),
    { label: 'retry', words: describeRetry(policy.retry) },
    { label: 'longest wait', words: exactTime(policy.maxWaitMs) },
    ...(isLoop ? [{ label: 'stall', words: describeStall(policy.stall) }] : []),
  ]
}

/** `4 h per iteration, 30 min of silence, 3 iterations without progress`. */
function allLimits(policy: Policy, isLoop: boolean): string {
  const { timeoutMs, idleMs, stall, budget, retry, maxWaitMs } = policy
  const { forMs, attempts } = retry
  const isRetried = forMs !== 0 && (attempts === undefined || attempts > 1)
  const tries =
    attempts === undefined ? `retries for ${describeLimit(forMs)}` : `${attempts} attempts`
  return [
    ...(timeoutMs === undefined
      ? []
      : [`${exactTime(timeoutMs)}${isLoop ? ' per iteration' : ''}`]),
    ...(idleMs === undefined ? [] : [`${exactTime(idleMs)} of silence`]),
    ...(isLoop && stall > 0 ? [`${iterations(stall)} without progress`] : []),
    ...(budget.costUsd === undefined ? [] : [formatMoney(budget.costUsd)]),
    ...(budget.tokens === undefined ? [] : [describeTokens(budget.tokens)]),
    ...(budget.ms === undefined ? [] : [`${exactTime(budget.ms)} in all`]),
    isRetried ? tries : 'no retries',
    `waits up to ${exactTime(maxWaitMs)}`,
  ].join(', ')
}

function otherLines({ onFail, hooks, env, grace }: Policy, plan: Plan): PolicyLine[] {
  const names = Object.keys(env)
  return [
    { label: 'on failure', words: describeOnFail(onFail, plan) },
    ...hookLines(hooks),
    // Only the names: a value may be a secret.
    ...(names.length === 0 ? [] : [{ label: 'env', words: names.join(', ') }]),
    {
      label: 'grace',
      words: `${exactTime(grace.markerMs)} after the marker, ${exactTime(grace.termMs)} after a signal`,
    },
  ]
}

function optional(label: string, words: string | undefined): PolicyLine[] {
  return words === undefined ? [] : [{ label, words }]
}

function hookLines(hooks: Hooks): PolicyLine[] {
  return Object.entries(hooks).map(([name, command]) => ({ label: `hook ${name}`, words: command }))
}

function budgetLines({ costUsd, tokens, ms }: Budget): PolicyLine[] {
  const words = [
    ...(costUsd === undefined ? [] : [formatMoney(costUsd)]),
    ...(tokens === undefined ? [] : [describeTokens(tokens)]),
    ...(ms === undefined ? [] : [exactTime(ms)]),
  ]
  return words.length === 0 ? [] : [{ label: 'budget', words: words.join(', ') }]
}

function describeLimit(ms: number | undefined): string {
  return ms === undefined ? 'off' : exactTime(ms)
}

function describeStall(stall: number): string {
  if (stall === 0) return 'off'
  return `after ${iterations(stall)} without progress`
}

function iterations(count: number): string {
  return `${count} ${count === 1 ? 'iteration' : 'iterations'}`
}

function describeTokens(tokens: number): string {
  return `${tokens.toLocaleString('en-US')} tokens`
}

function describeRetry({ forMs, attempts, backoffMs, maxBackoffMs }: Retry): string {
  if (forMs === 0 || (attempts !== undefined && attempts <= 1)) return 'never'
  const how = attempts === undefined ? `for ${describeLimit(forMs)}` : `${attempts} attempts`
  return `${how}, after ${exactTime(backoffMs)} up to ${exactTime(maxBackoffMs)}`
}

function describeOnFail(onFail: OnFail, { root, recoveries }: Plan): string {
  const nameOf = (number: number) => {
    const step = [...stepsOf(root), ...recoveries].find((each) => each.number === number)
    return `step ${number} (${step?.name ?? step?.agent.name})`
  }
  switch (onFail.kind) {
    case 'stop':
      return 'stop'
    case 'continue':
      return 'continue with the next step'
    case 'goto':
      return `go to ${nameOf(onFail.step)}, at most ${times(onFail.times)}`
    case 'run':
      return `run ${nameOf(onFail.step)}`
    default:
      return unreachable(onFail)
  }
}

const UNITS = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const

/** `2 h`, `1 h 30 min`, `90 s`: not rounded, because it is a limit. */
function exactTime(ms: number): string {
  if (ms === 0) return '0 s'
  if (ms < 120_000 && ms % 1000 === 0) return `${ms / 1000} s`
  let rest = ms
  const parts = UNITS.flatMap(([name, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? [] : [`${count} ${name}`]
  })
  return parts.join(' ')
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}
