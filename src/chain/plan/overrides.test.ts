import { describe, expect, test } from 'bun:test'
import { make } from '../../../tests/support/plan.ts'
import type { ChainConfig } from '../parse/chains-schema.ts'
import { applyOverrides, type Overrides } from './overrides.ts'
import { DEFAULT_POLICY } from './policy.ts'

describe('the command line', () => {
  const overrides: Overrides = {
    budget: { costUsd: 1 },
    timeoutMs: 'off',
    idleMs: 5000,
    stall: 9,
    verify: ['v'],
    until: 'u',
  }
  const chain: ChainConfig = {
    maxCostUsd: 5,
    maxDuration: '1h',
    steps: [
      { agent: 'a', iterations: 2, timeout: '1m', verify: 's', maxCostUsd: 3 },
      { agent: 'a', onFail: { run: 'medic' } },
    ],
  }

  test('overrides the configuration of every step; its budget is that of the run', () => {
    const { plan, policies } = make({ chain, overrides, isInRepository: true })
    expect(plan.budget).toEqual({ costUsd: 1, ms: 3_600_000 })
    for (const policy of policies) {
      expect(policy).toMatchObject({ idleMs: 5000, stall: 9, verify: ['v'], until: 'u' })
      expect(policy).not.toHaveProperty('timeoutMs')
    }
    expect(policies[0]!.budget).toEqual({ costUsd: 3 })
  })

  test('sets limits, but no gates, for recovery agents', () => {
    const [medic] = make({ chain, overrides }).plan.recoveries
    const { timeoutMs: _, ...unlimited } = DEFAULT_POLICY
    expect(medic?.policy).toEqual({ ...unlimited, idleMs: 5000, stall: 9 })
  })

  test('changes a recorded plan as it changes a new one', () => {
    const { plan } = make({ chain })
    const recorded = JSON.parse(JSON.stringify(plan)) as typeof plan
    expect(applyOverrides(recorded, overrides)).toEqual(make({ chain, overrides }).plan)
    expect(applyOverrides(recorded, {})).toEqual(plan)
  })
})
