import { moneyWords } from '../base/amounts.ts'
import { unreachable } from '../base/errors.ts'
import { defaultPolicy } from './make-policy.ts'
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

/** What differs from the defaults of a step's agent, or, with `isComplete`, everything. */
export function stepLines(
  step: StepNode,
  plan: Plan,
  {
    isInRepository,
    isComplete,
  }: { readonly isInRepository: boolean; readonly isComplete: boolean },
): PolicyLine[] {
  const isLoop = step.loop !== undefined
  const usual = isComplete ? [] : linesOf(defaultPolicy(step.agent, isInRepository), isLoop, plan)
  const isUsual = ({ label, words }: PolicyLine) =>
    usual.some((line) => line.label === label && line.words === words)
  const lines = linesOf(step.policy, isLoop, plan).filter((line) => !isUsual(line))
  return [...optional('name', step.name), ...lines]
}

function linesOf(policy: Policy, isLoop: boolean, plan: Plan): PolicyLine[] {
  const { verify, until, when, timeoutMs, idleMs, grace } = policy
  const names = Object.keys(policy.env)
  return [
    ...optional('when', when),
    ...verify.map((command) => ({ label: 'verify', words: command })),
    ...optional('until', until),
    { label: 'time limit', words: limitWords(timeoutMs) },
    { label: 'silence limit', words: limitWords(idleMs) },
    ...budgetLines(policy.budget),
    { label: 'retry', words: retryWords(policy.retry) },
    { label: 'longest wait', words: exactTime(policy.maxWaitMs) },
    ...(isLoop ? [{ label: 'stall', words: stallWords(policy.stall) }] : []),
    { label: 'on failure', words: onFailWords(policy.onFail, plan) },
    ...hookLines(policy.hooks),
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
    ...(tokens === undefined ? [] : [`${tokens.toLocaleString('en-US')} tokens`]),
    ...(ms === undefined ? [] : [exactTime(ms)]),
  ]
  return words.length === 0 ? [] : [{ label: 'budget', words: words.join(', ') }]
}

function limitWords(ms: number | undefined): string {
  return ms === undefined ? 'off' : exactTime(ms)
}

function stallWords(stall: number): string {
  if (stall === 0) return 'off'
  return `after ${stall} ${stall === 1 ? 'iteration' : 'iterations'} without progress`
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
