import { moneyWords } from '../base/amounts.ts'
import { unreachable } from '../base/errors.ts'
import { changesCode } from './agent-role.ts'
import { defaultPolicy, type Overrides } from './make-policy.ts'
import { stepsOf, type Plan, type StepNode } from './plan.ts'
import type { Budget, Hooks, OnFail, Policy, Retry } from './policy.ts'

/** One thing that a plan says beside its agents, for people: `budget`, `$5.00, 2 h`. */
export interface PolicyLine {
  readonly label: string
  readonly words: string
}

/** What holds for the chain as a whole. */
export function chainLines({ when, budget, hooks }: Plan): PolicyLine[] {
  return [...optional('when', when), ...budgetLines(budget), ...hookLines(hooks)]
}

/**
 * Every limit that can end the step in one line, and what else differs from the defaults of its agent;
 * with `isComplete` everything, each in a line of its own.
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

/** Where a gate of the command line does not hold for a step. */
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
    { label: 'time limit', words: limitWords(policy.timeoutMs) },
    { label: 'silence limit', words: limitWords(policy.idleMs) },
    ...budgetLines(policy.budget),
    { label: 'retry', words: retryWords(policy.retry) },
    { label: 'longest wait', words: exactTime(policy.maxWaitMs) },
    ...(isLoop ? [{ label: 'stall', words: stallWords(policy.stall) }] : []),
  ]
}

/** `4 h per iteration, 30 min of silence, 3 iterations without progress`. */
function allLimits(policy: Policy, isLoop: boolean): string {
  const { timeoutMs, idleMs, stall, budget, retry, maxWaitMs } = policy
  const { forMs, attempts } = retry
  const isRetried = forMs !== 0 && (attempts === undefined || attempts > 1)
  const tries = attempts === undefined ? `retries for ${limitWords(forMs)}` : `${attempts} attempts`
  return [
    ...(timeoutMs === undefined
      ? []
      : [`${exactTime(timeoutMs)}${isLoop ? ' per iteration' : ''}`]),
    ...(idleMs === undefined ? [] : [`${exactTime(idleMs)} of silence`]),
    ...(isLoop && stall > 0 ? [`${iterations(stall)} without progress`] : []),
    ...(budget.costUsd === undefined ? [] : [moneyWords(budget.costUsd)]),
    ...(budget.tokens === undefined ? [] : [tokenWords(budget.tokens)]),
    ...(budget.ms === undefined ? [] : [`${exactTime(budget.ms)} in all`]),
    isRetried ? tries : 'no retries',
    `waits up to ${exactTime(maxWaitMs)}`,
  ].join(', ')
}

function otherLines({ onFail, hooks, env, grace }: Policy, plan: Plan): PolicyLine[] {
  const names = Object.keys(env)
  return [
    { label: 'on failure', words: onFailWords(onFail, plan) },
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
    ...(costUsd === undefined ? [] : [moneyWords(costUsd)]),
    ...(tokens === undefined ? [] : [tokenWords(tokens)]),
    ...(ms === undefined ? [] : [exactTime(ms)]),
  ]
  return words.length === 0 ? [] : [{ label: 'budget', words: words.join(', ') }]
}

function limitWords(ms: number | undefined): string {
  return ms === undefined ? 'off' : exactTime(ms)
}

function stallWords(stall: number): string {
  if (stall === 0) return 'off'
  return `after ${iterations(stall)} without progress`
}

function iterations(count: number): string {
  return `${count} ${count === 1 ? 'iteration' : 'iterations'}`
}

function tokenWords(tokens: number): string {
  return `${tokens.toLocaleString('en-US')} tokens`
}

function retryWords({ forMs, attempts, backoffMs, maxBackoffMs }: Retry): string {
  if (forMs === 0 || (attempts !== undefined && attempts <= 1)) return 'never'
  const how = attempts === undefined ? `for ${limitWords(forMs)}` : `${attempts} attempts`
  return `${how}, after ${exactTime(backoffMs)} up to ${exactTime(maxBackoffMs)}`
}

function onFailWords(onFail: OnFail, { root, recoveries }: Plan): string {
  const nameOf = (number: number) => {
    const step = [...stepsOf(root), ...recoveries].find((each) => each.number === number)
    return `step ${number} (${step?.name ?? step?.agent.name})`
  }
  switch (onFail.kind) {
    case 'stop':
      return 'stop'
    case 'continue':
      return 'go on with the next step'
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

/** `2 h`, `1 h 30 min`, `90 s`: not rounded, for it is a limit. */
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
