import type { EventOf } from '../../records/events/event.ts'
import { branchName } from '../../records/events/branch-name.ts'
import { stepOf, type RunState } from '../../records/events/state.ts'
import type { CostRow } from '../../views/cost.ts'

export const COST_KEYS = ['run', 'agent', 'step', 'branch', 'day', 'task'] as const

export type CostKey = (typeof COST_KEYS)[number]

type Ended = EventOf<'iteration_ended'> | EventOf<'task_ended'>

type Writable<Row> = { -readonly [Name in keyof Row]: Row[Name] }
type Sum = Writable<Omit<CostRow, 'tokens'>> & { readonly tokens: Writable<CostRow['tokens']> }

/** Adds up time and usage of iterations by a key. */
export class CostTable {
  readonly #by: CostKey
  readonly #sums = new Map<string, Sum>()
  readonly total: Sum = makeSum('total')

  constructor(by: CostKey) {
    this.#by = by
  }

  add(run: string, state: RunState, event: Ended): void {
    const keys = keysOf(this.#by, run, state, event)
    for (const key of keys) {
      const sum = this.#sums.get(key) ?? makeSum(key)
      this.#sums.set(key, sum)
      addShare(sum, event, 1 / keys.length)
    }
    addShare(this.total, event, 1)
  }

  /** Runs and days newest first, everything else by cost. */
  get rows(): CostRow[] {
    const rows = [...this.#sums.values()]
    if (this.#by === 'run') return rows
    if (this.#by === 'day') return rows.toSorted((a, b) => (a.key < b.key ? 1 : -1))
    return rows.toSorted((a, b) => b.costUsd - a.costUsd || b.ms - a.ms)
  }
}

function keysOf(by: CostKey, run: string, state: RunState, event: Ended): readonly string[] {
  const step = stepOf(state, event)
  switch (by) {
    case 'run':
      return [run]
    case 'agent':
      return [(event.type === 'task_ended' ? event.agent : step.agent) || '(unknown)']
    case 'step': {
      const name = step.name ?? (step.agent || '(unknown)')
      const chain = state.chain === undefined ? '' : `${state.chain} `
      return [`${chain}step ${event.step}: ${name}`]
    }
    case 'branch':
      return [branchName(state, event.scope) ?? '(no branch)']
    case 'day':
      return [event.at.slice(0, 10)]
    case 'task':
      if (event.type === 'task_ended') return ['(sub-agents)']
      return event.tasks === undefined || event.tasks.length === 0 ? ['(no task)'] : event.tasks
  }
}

function makeSum(key: string): Sum {
  const tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  return { key, iterations: 0, tasks: 0, untold: 0, tokens, costUsd: 0, subscriptionUsd: 0, ms: 0 }
}

/** A repeated attempt costs money but does not count. */
function addShare(sum: Sum, { type, usage, again, ms }: Ended, share: number): void {
  const count = again === true ? 0 : share
  sum[type === 'task_ended' ? 'tasks' : 'iterations'] += count
  sum.ms += ms * share
  if (usage?.costUsd === undefined) sum.untold += count
  const cost = (usage?.costUsd ?? 0) * share
  sum.costUsd += cost
  if (usage?.billing === 'subscription') sum.subscriptionUsd += cost
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const)
    sum.tokens[kind] += (usage?.tokens?.[kind] ?? 0) * share
}
