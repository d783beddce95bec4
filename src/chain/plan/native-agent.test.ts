import { describe, expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import { DIRECT, make, refusal } from '../../../tests/support/plan.ts'
import { stepsOf } from './plan.ts'

const HAS_KEY = { env: { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' } }
const native = (more: AgentConfig = {}): AgentConfig => ({ engine: 'native', ...HAS_KEY, ...more })

const agentOf = (config: AgentConfig, name = 'a') => {
  const { plan, warnings } = make({
    agents: { [name]: config },
    chain: { steps: [{ agent: name, iterations: 2 }] },
  })
  return { agent: stepsOf(plan.root)[0]!.agent, warnings, policy: stepsOf(plan.root)[0]!.policy }
}

test('an entry is enough: model, turns and system prompt have defaults', () => {
  expect(agentOf(native()).agent).toMatchObject({
    engine: 'native',
    provider: 'anthropic',
    model: 'anthropic/claude-sonnet-5-5',
    maxTurns: 100,
    systemPrompt: [{ text: expect.stringContaining('software engineer') }],
  })
})

test('it wins over a program of its name and keeps its own prompt', () => {
  expect(agentOf(native({ ...DIRECT, model: 'gpt-6-sol' })).agent).toMatchObject({
    engine: 'native',
    model: 'openai/gpt-6-sol',
    systemPrompt: [{ text: 'You build.' }],
  })
})

test('a built-in agent with the native engine keeps its prompts and its role', () => {
  const { agent } = agentOf(native(), 'builder')
  expect(agent).toMatchObject({ engine: 'native', finishesTasks: true })
  expect(agent).toMatchObject({
    systemPrompt: [{ isOptional: true }, { text: expect.any(String) }],
  })
})

test('it has the silence and stall limits of a direct agent', () => {
  expect(agentOf(native()).policy).toEqual({
    ...agentOf({ ...DIRECT, ...HAS_KEY }).policy,
  })
})

describe('it is refused, with what to do,', () => {
  test.each<[string, AgentConfig, string]>([
    ['without a key', { engine: 'native' }, 'ANTHROPIC_API_KEY is not set'],
    [
      'without any of several keys',
      { engine: 'native', model: 'gemini-2.5-pro' },
      'GOOGLE_GENERATIVE_AI_API_KEY and GEMINI_API_KEY are not set',
    ],
    ['without its own key', native({ apiKeyEnv: 'MINE' }), 'MINE is not set'],
    ['with a model of an unknown provider', native({ model: 'llama-4' }), 'Unknown provider'],
    [
      'with a service without an address',
      native({ model: 'compatible/x' }),
      'but has no "baseUrl"',
    ],
    ['with a pattern', native({ allowedTools: ['Bash(git *)'] }), "cannot enforce 'Bash(git *)'"],
    ['with an unknown tool', native({ allowedTools: ['raed'] }), "has no tool 'raed'"],
  ])('%s', (_, config, words) => {
    const error = refusal({ agents: { a: config } })
    expect(error).toBeInstanceOf(UserError)
    expect(error.message).toContain(words)
    expect(error.hint).toBeString()
  })
})

test('a service that needs no key gets none', () => {
  const baseUrl = 'http://127.0.0.1:1/v1'
  expect(agentOf({ engine: 'native', model: 'compatible/x', baseUrl }).agent).toMatchObject({
    baseUrl,
  })
})

test('a budget in dollars without a known price is a warning', () => {
  const { warnings } = agentOf(native({ model: 'claude-house-9', maxCostUsd: 1 }))
  expect(warnings).toEqual([
    expect.stringContaining('"anthropic/claude-house-9": its price is unknown'),
  ])
  expect(agentOf(native({ maxCostUsd: 1 })).warnings).toEqual([])
})
