import { describe, expect, test } from 'bun:test'
import { DIRECT, make } from '../../../tests/support/plan.ts'
import type { PolicyConfig } from '../parse/policy-schema.ts'
import { stepsOf } from './plan.ts'
import { DEFAULT_POLICY, type Policy } from './policy.ts'

describe('without configuration', () => {
  test('a program has the defaults, in a repository too', () => {
    expect(make({}).policies).toEqual([DEFAULT_POLICY])
    expect(make({ isInRepository: true }).policies).toEqual([DEFAULT_POLICY])
  })

  test('a direct agent has a silence limit and, in a repository, a stall limit', () => {
    const agents = { a: DIRECT }
    const idleMs = 30 * 60_000
    expect(make({ agents }).policies).toEqual([{ ...DEFAULT_POLICY, idleMs }])
    expect(make({ agents, isInRepository: true }).policies).toEqual([
      { ...DEFAULT_POLICY, idleMs, stall: 3 },
    ])
  })

  test('limits that are off are absent', () => {
    const off = { timeout: 'off', idleTimeout: 'off', stall: 0 }
    const { policies } = make({ agents: { a: { ...DIRECT, ...off } }, isInRepository: true })
    const { timeoutMs: _, ...unlimited } = DEFAULT_POLICY
    expect(policies).toEqual([unlimited])
  })
})

const FIELDS: [PolicyConfig, PolicyConfig, PolicyConfig, Partial<Policy>, Partial<Policy>][] = [
  [{ verify: ['s'] }, { verify: 'c' }, { verify: 'a' }, { verify: ['s'] }, { verify: ['c'] }],
  [{ until: 's' }, { until: 'c' }, { until: 'a' }, { until: 's' }, { until: 'c' }],
  [
    { timeout: '1s' },
    { timeout: '2s' },
    { timeout: 'off' },
    { timeoutMs: 1000 },
    { timeoutMs: 2000 },
  ],
  [
    { idleTimeout: '1m' },
    { idleTimeout: '2m' },
    { idleTimeout: 'off' },
    { idleMs: 60_000 },
    { idleMs: 120_000 },
  ],
  [
    { retry: { attempts: 4 } },
    { retry: { for: '1h', backoff: '20m' } },
    { retry: { for: '3h', maxBackoff: '1m' } },
    { retry: { attempts: 4, backoffMs: 10_000, maxBackoffMs: 600_000 } },
    { retry: { forMs: 3_600_000, backoffMs: 1_200_000, maxBackoffMs: 1_200_000 } },
  ],
  [{ maxWait: '0s' }, { maxWait: '1h' }, { maxWait: '2h' }, { maxWaitMs: 0 }, { maxWaitMs: 3.6e6 }],
  [{ stall: 0 }, { stall: 7 }, { stall: 8 }, { stall: 0 }, { stall: 7 }],
  [
    { onFail: 'stop' },
    { onFail: { goto: 1 } },
    { onFail: 'continue' },
    { onFail: { kind: 'stop' } },
    { onFail: { kind: 'goto', step: 1, times: 1 } },
  ],
  [
    { grace: { marker: '1s' } },
    { grace: { term: '2s' } },
    { grace: { marker: '3s' } },
    { grace: { markerMs: 1000, termMs: 10_000 } },
    { grace: { markerMs: 60_000, termMs: 2000 } },
  ],
]

test.each(FIELDS)('%j overrides %j, which overrides %j', (step, chain, agent, first, second) => {
  const steps = [{ agent: 'a', ...step }, { agent: 'a' }]
  const { policies } = make({ chain: { ...chain, steps }, agents: { a: agent } })
  expect(policies).toMatchObject([first, second])
})

test.each(FIELDS)('%j and %j override the agent with %j', (_, __, agent) => {
  const own = make({ agents: { a: agent } }).policies
  const asStep = make({ chain: { steps: [{ agent: 'a', iterations: 3, ...agent }] } }).policies
  expect(own).toEqual(asStep)
})

test('the environment merges, the nearest value last', () => {
  const chain = { env: { B: 'c', C: 'c' }, steps: [{ agent: 'a', env: { C: 's' } }] }
  const agents = { a: { env: { A: 'a', B: 'a', C: 'a' } } }
  expect(make({ chain, agents }).policies[0]!.env).toEqual({ A: 'a', B: 'c', C: 's' })
})

test('budget, condition and hooks of a chain apply to the chain, not to each step', () => {
  const { plan, policies } = make({
    chain: {
      maxCostUsd: 5,
      maxTokens: 100,
      maxDuration: '2h',
      when: 'c',
      hooks: { afterRun: 'done', beforeStep: 'c' },
      steps: [{ agent: 'a', maxCostUsd: 1, when: 's', hooks: { onWait: 's' } }, { agent: 'a' }],
    },
    agents: { a: { ...DIRECT, maxCostUsd: 2, maxTokens: 3, when: 'a', hooks: { afterStep: 'a' } } },
  })
  expect(plan).toMatchObject({
    budget: { costUsd: 5, tokens: 100, ms: 7_200_000 },
    when: 'c',
    hooks: { afterRun: 'done', beforeStep: 'c' },
  })
  const of = (index: number) => {
    const { budget, when, hooks } = policies[index]!
    return { budget, when, hooks }
  }
  expect(of(0)).toEqual({ budget: { costUsd: 1, tokens: 3 }, when: 's', hooks: { onWait: 's' } })
  expect(of(1)).toEqual({ budget: { costUsd: 2, tokens: 3 }, when: 'a', hooks: { afterStep: 'a' } })
})

test('variables in commands are left to the shell', () => {
  const step = { agent: 'a', verify: '${V}', until: '$${V}', env: { A: '${V}' } }
  expect(make({ chain: { steps: [step] } }).policies).toMatchObject([
    { verify: ['${V}'], until: '$${V}', env: { A: '${V}' } },
  ])
})

test('the plan contains its configuration file', () => {
  const configuration = { file: 'forge/orch/chains.json', hash: 'abc' }
  expect(make({ configuration }).plan.configuration).toEqual(configuration)
  expect(make({}).plan).not.toHaveProperty('configuration')
})

test('the plan contains the name of a step', () => {
  const { plan } = make({ chain: { steps: [{ agent: 'a', name: 'fix' }, { agent: 'a' }] } })
  expect(stepsOf(plan.root).map(({ name }) => name)).toEqual(['fix', undefined])
})

test('an agent can exclude the settings of the user', () => {
  const { plan } = make({ agents: { a: { ...DIRECT, userSettings: false } } })
  expect(stepsOf(plan.root)[0]!.agent).toMatchObject({ engine: 'claude', userSettings: false })
})
