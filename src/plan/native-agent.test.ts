import { describe, expect, test } from 'bun:test'
import { UserError } from '../base/errors.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import { DIRECT, make, refusal } from '../../tests/support/plan.ts'
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

test('an entry is enough: it has a model, turns and words of its own', () => {
  expect(agentOf(native()).agent).toMatchObject({
    engine: 'native',
    provider: 'anthropic',
    model: 'anthropic/claude-sonnet-5-5',
    maxTurns: 100,
    systemPrompt: [{ text: expect.stringContaining('software engineer') }],
  })
})

test('it wins over a program of its name, and keeps its own prompt', () => {
  expect(agentOf(native({ ...DIRECT, model: 'gpt-6-sol' })).agent).toMatchObject({
    engine: 'native',
    model: 'openai/gpt-6-sol',
    systemPrompt: [{ text: 'You build.' }],
  })
})

test('a built-in agent that it plays keeps its prompts and what it is for', () => {
  const { agent } = agentOf(native(), 'builder')
  expect(agent).toMatchObject({ engine: 'native', finishesTasks: true })
  expect(agent).toMatchObject({
    systemPrompt: [{ isOptional: true }, { text: expect.any(String) }],
  })
})

test('its silence and its stand-still mean something, as those of a direct agent', () => {
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
    ['with a model of nobody', native({ model: 'llama-4' }), 'does not say whose it is'],
    ['with a service at no address', native({ model: 'compatible/x' }), 'and no "baseUrl"'],
    ['with a pattern', native({ allowedTools: ['Bash(git *)'] }), "cannot keep 'Bash(git *)'"],
    ['with a tool that is none', native({ allowedTools: ['raed'] }), "knows no tool 'raed'"],
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

test('a budget in dollars that cannot be kept is told', () => {
  const { warnings } = agentOf(native({ model: 'claude-house-9', maxCostUsd: 1 }))
  expect(warnings).toEqual([
    expect.stringContaining('"anthropic/claude-house-9": no price is known'),
  ])
  expect(agentOf(native({ maxCostUsd: 1 })).warnings).toEqual([])
})
