import { expect, test } from 'bun:test'
import { findModel, modelId, parseModel } from './model-names.ts'
import { costOf, priceOf } from '../prices.ts'

test.each([
  ['sonnet', 'anthropic/claude-sonnet-5-5'],
  ['claude-opus-4-5', 'anthropic/claude-opus-4-5'],
  ['gpt-6-sol', 'openai/gpt-6-sol'],
  ['o4-mini', 'openai/o4-mini'],
  ['gemini-2.5-pro', 'google/gemini-2.5-pro'],
  ['openai/my-tuned', 'openai/my-tuned'],
  ['compatible/meta/llama-4', 'compatible/meta/llama-4'],
  ['openai-compatible/llama', 'compatible/llama'],
])('%s is %s', (text, model) => {
  expect(parseModel(text).model).toBe(model)
})

test.each(['llama-4', 'nobody/model', 'openai/', ''])('%j has no known provider', (text) => {
  expect(findModel(text)).toBeUndefined()
  expect(() => parseModel(text)).toThrow('Unknown provider')
})

test('the id has no provider', () => {
  expect(modelId('compatible/meta/llama-4')).toBe('meta/llama-4')
})

const MILLION = { input: 1e6, output: 0, cacheRead: 0, cacheWrite: 0 }

test.each([
  ['anthropic/claude-sonnet-5-5', 2],
  ['anthropic/claude-opus-5', 5],
  ['anthropic/claude-opus-5-5', 4],
  ['anthropic/claude-opus-4-1', 15],
  ['openai/gpt-6-sol', 4],
  ['openai/gpt-5', 1.25],
  ['google/gemini-2.5-pro', 2.5],
])('a million tokens for %s cost $%d, in one long prompt', (model, usd) => {
  expect(costOf(MILLION, priceOf(model)!)).toBeCloseTo(usd)
})

test('each kind of token has its price, and long prompts cost more', () => {
  const tokens = { input: 1000, output: 100, cacheRead: 10_000, cacheWrite: 2000 }
  const haiku = priceOf('anthropic/claude-haiku-5-5')!
  expect(costOf(tokens, haiku)).toBeCloseTo((100 + 50 + 100 + 250) / 1e6)
  expect(costOf({ ...tokens, input: 100_001 }, haiku)).toBeGreaterThan(0.05)
})

test('configured prices win, and unknown models have none', () => {
  const own = { 'gpt-6-sol': { input: 7, output: 8 }, 'compatible/x': { input: 1, output: 1 } }
  expect(priceOf('openai/gpt-6-sol', own)).toEqual({ input: 7, output: 8 })
  expect(priceOf('compatible/x', own)).toEqual({ input: 1, output: 1 })
  expect(priceOf('compatible/gpt-6-sol')).toBeUndefined()
  expect(priceOf('openai/gpt-99')).toBeUndefined()
})
