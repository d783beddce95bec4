import { counted, formatMoney } from '../../base/amounts.ts'
import { unreachable } from '../../base/errors.ts'
import { changesCode } from './agent-role.ts'
import { defaultPolicy } from './make-policy.ts'
import { describeNotify } from './notify.ts'
import type { Overrides } from './overrides.ts'
import { stepsOf, type Plan, type StepNode } from './plan.ts'
import type { Budget, GroupPolicy, Hooks, OnFail, Policy, Retry } from './policy.ts'

/** A setting of a plan as text, such as `budget` and `$5.00, 2 h`. */
export interface PolicyLine {
  readonly label: string
  readonly words: string
}

const line = (label: string, words: string | undefined): PolicyLine[] =>
  words === undefined ? [] : [{ label, words }]

const show = <Value>(value: Value | undefined, render: (value: Value) => string): string[] =>
  value === undefined ? [] : [render(value)]

/** Settings of the whole chain. */
export function chainLines(plan: Plan): PolicyLine[] {
  const { when, budget, hooks, notify = [], maxParallel } = plan
  const most = show(maxParallel, (count) => `at most ${counted(count, 'agent')} at once`)
  return [
    ...line('when', when),
    ...budgetLines(budget),
    ...line('parallel', most[0]),
    ...hookLines(hooks),
    ...line('notify', describeNotify(notify) || undefined),
  ]
}

/** Settings of a whole group. */
export function groupLines({ when, budget, hooks, onFail }: GroupPolicy, plan: Plan): PolicyLine[] {
  const failure = onFail.kind === 'stop' ? undefined : describeOnFail(onFail, plan)
  return [
    ...line('when', when),
    ...budgetLines(budget),
    ...line('on failure', failure),
    ...hookLines(hooks),
  ]
}

/**
 * All limits of a step on one line, plus settings that differ from the defaults of its agent; with
 * `isComplete`, one line per setting.
 */
export function stepLines(
  { agent, name, loop, policy }: StepNode,
  plan: Plan,
  {
    isInRepository,
    isComplete,
  }: { readonly isInRepository: boolean; readonly isComplete: boolean },
): PolicyLine[] {
  const isLoop = loop !== undefined
  const usual = otherLines(defaultPolicy(agent, isInRepository), plan)
  const isUsual = (one: PolicyLine) => usual.some((other) => Bun.deepEquals(one, other))
  const others = otherLines(policy, plan)
  return [
    ...line('name', name),
    ...line('when', policy.when),
    ...policy.verify.flatMap((command) => line('verify', command)),
    ...line('until', policy.until),
    ...(isComplete ? limitLines(policy, isLoop) : line('limits', allLimits(policy, isLoop))),
    ...(isComplete ? others : others.filter((one) => !isUsual(one))),
  ]
}

/** Gates from the command line that do not apply to a step. */
export function exemptLines(
  { agent }: StepNode,
  overrides: Pick<Overrides, 'verify' | 'until'>,
): PolicyLine[] {
  if (changesCode(agent)) return []
  const words = 'not for this step, which does not change code'
  return (['verify', 'until'] as const)
    .filter((label) => overrides[label] !== undefined)
    .map((label) => ({ label: `--${label}`, words }))
}

function limitLines(policy: Policy, isLoop: boolean): PolicyLine[] {
  const { timeoutMs, idleMs, budget, retry, maxWaitMs, stall } = policy
  const progress = stall === 0 ? 'off' : `after ${iterations(stall)} without progress`
  const waits = `after ${exactTime(retry.backoffMs)} up to ${exactTime(retry.maxBackoffMs)}`
  const tries = describeTries(retry)
  return [
    ...line('time limit', describeLimit(timeoutMs)),
    ...line('silence limit', describeLimit(idleMs)),
    ...budgetLines(budget),
    ...line('retry', tries === undefined ? 'never' : `${tries}, ${waits}`),
    ...line('longest wait', exactTime(maxWaitMs)),
    ...line('stall', isLoop ? progress : undefined),
  ]
}

/** `4 h per iteration, 30 min of silence, 3 iterations without progress`. */
function allLimits(policy: Policy, isLoop: boolean): string {
  const { timeoutMs, idleMs, stall, budget, retry, maxWaitMs } = policy
  return [
    ...show(timeoutMs, (ms) => `${exactTime(ms)}${isLoop ? ' per iteration' : ''}`),
    ...show(idleMs, (ms) => `${exactTime(ms)} of silence`),
    ...(isLoop && stall > 0 ? [`${iterations(stall)} without progress`] : []),
    ...budgetParts(budget, ' in total'),
    describeTries(retry)?.replace(/^for/, 'retries for') ?? 'no retries',
    maxWaitMs === 0 ? 'does not wait for usage limits' : `waits up to ${exactTime(maxWaitMs)}`,
  ].join(', ')
}

function otherLines({ onFail, hooks, env, grace }: Policy, plan: Plan): PolicyLine[] {
  const { markerMs, termMs } = grace
  return [
    ...line('on failure', describeOnFail(onFail, plan)),
    ...hookLines(hooks),
    // Only the names: a value may be a secret.
    ...line('env', Object.keys(env).join(', ') || undefined),
    ...line(
      'grace',
      `${exactTime(markerMs)} after the marker, ${exactTime(termMs)} after a signal`,
    ),
  ]
}

function hookLines(hooks: Hooks): PolicyLine[] {
  return Object.entries(hooks).flatMap(([name, command]) => line(`hook ${name}`, command))
}

function budgetLines(budget: Budget): PolicyLine[] {
  return line('budget', describeBudget(budget) || undefined)
}

/** `$5.00, 2 h`; empty if there is no limit. */
export function describeBudget(budget: Budget): string {
  return budgetParts(budget).join(', ')
}

function budgetParts({ costUsd, tokens, ms }: Budget, suffix = ''): string[] {
  return [
    ...show(costUsd, formatMoney),
    ...show(tokens, (count) => `${count.toLocaleString('en-US')} tokens`),
    ...show(ms, (time) => `${exactTime(time)}${suffix}`),
  ]
}

function describeLimit(ms: number | undefined): string {
  return ms === undefined ? 'off' : exactTime(ms)
}

function iterations(count: number): string {
  return `${count} ${count === 1 ? 'iteration' : 'iterations'}`
}

/** `3 attempts` or `for 2 h`; undefined if nothing is retried. */
function describeTries({ forMs, attempts }: Retry): string | undefined {
  if (attempts !== undefined) return attempts > 1 ? `${attempts} attempts` : undefined
  return forMs === 0 ? undefined : `for ${describeLimit(forMs)}`
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
    case 'goto': {
      const times = onFail.times === 1 ? 'once' : `${onFail.times} times`
      return `go to ${nameOf(onFail.step)}, at most ${times}`
    }
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
  if (ms < 120_000 && ms % 1000 === 0) return `${ms / 1000} s`
  let rest = ms
  const parts = UNITS.flatMap(([name, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? [] : [`${count} ${name}`]
  })
  return parts.join(' ')
}
