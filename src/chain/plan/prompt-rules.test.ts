import { expect, test } from 'bun:test'
import { DIRECT, make } from '../../../tests/support/plan.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { PolicyConfig } from '../parse/policy-schema.ts'
import { stepsOf } from './plan.ts'
import { makePromptRules } from './make-policy.ts'

const rules = (levels: Partial<Record<'step' | 'chain' | 'agent', PolicyConfig>>, isRaw = false) =>
  makePromptRules({
    step: {},
    chain: {},
    agent: {},
    base: '/chain',
    agentBase: '/agents',
    isRaw,
    ...levels,
  })

test('without configuration the plan contains no rules', () => {
  expect(rules({})).toEqual({})
  expect(rules({ step: { rawPrompt: false } })).toEqual({})
})

test('the nearest level decides whether a prompt has commands, the command line first', () => {
  expect(rules({ agent: { rawPrompt: true } })).toEqual({ rawPrompt: true })
  expect(rules({ chain: { rawPrompt: false }, agent: { rawPrompt: true } })).toEqual({})
  expect(rules({ step: { rawPrompt: true }, chain: { rawPrompt: false } })).toEqual({
    rawPrompt: true,
  })
  expect(rules({ step: { rawPrompt: false } }, true)).toEqual({ rawPrompt: true })
})

test('the nearest limit and folders win, relative to their own file', () => {
  const agent = { readLimit: 10, readRoots: ['lib', '/abs'] }
  expect(rules({ agent })).toEqual({
    reading: { limitBytes: 10, roots: ['/agents/lib', '/abs'] },
  })
  expect(rules({ agent, chain: { readRoots: ['../x'] }, step: { readLimit: 20 } })).toEqual({
    reading: { limitBytes: 20, roots: ['/x'] },
  })
  expect(rules({ agent, step: { readRoots: [] } })).toEqual({
    reading: { limitBytes: 10, roots: [] },
  })
})

test('the plan of a direct agent contains its queue setting', () => {
  const agentOf = (config: AgentConfig) => {
    const chain = { steps: [{ agent: 'mine' }] }
    return stepsOf(make({ chain, agents: { mine: { ...DIRECT, ...config } } }).plan.root)[0]?.agent
  }
  expect(agentOf({ queue: true })).toHaveProperty('queue', true)
  expect(agentOf({})).not.toHaveProperty('queue')
})
