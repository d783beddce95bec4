import { describe, expect, test } from 'bun:test'
import { make, refusal } from '../../../tests/support/plan.ts'
import { DEFAULT_POLICY } from './policy.ts'

describe('on failure', () => {
  test.each([
    ['fix', 2],
    [2, 2],
    ['3', 3],
  ])('a step goes to %p', (goto, step) => {
    const steps = [{ agent: 'a' }, { agent: 'a', name: 'fix' }]
    const { policies } = make({
      chain: { steps: [...steps, { agent: 'a', onFail: { goto, times: 4 } }] },
    })
    expect(policies[2]!.onFail).toEqual({ kind: 'goto', step, times: 4 })
  })

  test('goto to a step that does not exist is refused with the valid targets', () => {
    const chain = { steps: [{ agent: 'a' }, { agent: 'b', name: 'fix' }] }
    const { message, hint } = refusal({ chain, agents: { a: { onFail: { goto: 'fx' } } } })
    expect(message).toBe("\"onFail\" of 'a' goes to step 'fx', which does not exist in chain 'c'.")
    expect(hint).toBe('Write "fix" or a number from 1 to 2.')
  })

  test('each step has its own recovery agent, numbered after the steps', () => {
    const { plan, policies } = make({
      chain: {
        prompt: 'P',
        env: { A: '1' },
        timeout: '1m',
        onFail: { run: 'medic' },
        steps: [{ agent: 'a' }, { agent: 'b', prompt: 'own' }],
      },
      agents: { medic: { timeout: '5m', onFail: { run: 'medic' } } },
    })
    expect(policies.map(({ onFail }) => onFail)).toEqual([
      { kind: 'run', step: 3 },
      { kind: 'run', step: 4 },
    ])
    const node = {
      kind: 'step' as const,
      agent: { engine: 'binary' as const, name: 'medic', program: '/bin/medic' },
      cwd: '/project',
      args: [],
      prompt: [{ level: 'chain' as const, text: ['P'] }],
      policy: { ...DEFAULT_POLICY, timeoutMs: 300_000, env: { A: '1' } },
    }
    expect(plan.recoveries).toEqual([
      { ...node, id: 'r3', number: 3 },
      { ...node, id: 'r4', number: 4 },
    ])
  })

  test('an unknown recovery agent is refused', () => {
    const chain = { steps: [{ agent: 'a', onFail: { run: 'gone' } }] }
    expect(refusal({ chain }).message).toBe('Agent not found: gone')
  })
})
