import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'bun:test'
import { AnswerBuilder } from './answer.ts'

const FINISH: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'tool-calls', raw: 'tool_use' },
  usage: {
    inputTokens: { total: 100, noCache: undefined, cacheRead: 60, cacheWrite: 10 },
    outputTokens: { total: 7, text: 7, reasoning: 0 },
  },
}

type Unified = (LanguageModelV4StreamPart & { type: 'finish' })['finishReason']['unified']

const end = (unified: Unified, raw?: string) => ({ ...FINISH, finishReason: { unified, raw } })

const build = (...pieces: readonly LanguageModelV4StreamPart[]) => {
  const builder = new AnswerBuilder()
  const words = pieces.map((piece) => builder.take(piece)).join('')
  return { words, answer: builder.answer }
}

test('parts keep their order and their provider metadata', () => {
  const { words, answer } = build(
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'Hm' },
    {
      type: 'reasoning-delta',
      id: '0',
      delta: '',
      providerMetadata: { anthropic: { signature: 's' } },
    },
    { type: 'reasoning-end', id: '0', providerMetadata: { anthropic: { more: 1 } } },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'Hel' },
    { type: 'text-delta', id: '1', delta: 'lo' },
    { type: 'text-end', id: '1' },
    { type: 'text-start', id: '2' },
    { type: 'text-end', id: '2' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'bash', input: '{"command":"ls"}' },
    FINISH,
  )
  expect(words).toBe('Hello')
  expect(answer?.parts).toEqual([
    { type: 'thinking', text: 'Hm', meta: { anthropic: { signature: 's', more: 1 } } },
    { type: 'text', text: 'Hello' },
    { type: 'call', id: 'c', name: 'bash', input: { command: 'ls' } },
  ])
})

test('tokens are counted by kind, even if only the sum is known', () => {
  expect(build(end('stop', 'stop')).answer?.tokens).toEqual({
    input: 30,
    output: 7,
    cacheRead: 60,
    cacheWrite: 10,
  })
})

test('counts that are not finite or negative are ignored', () => {
  const usage = {
    inputTokens: { total: -1_000_000, noCache: -1_000_000, cacheRead: Infinity, cacheWrite: 1e308 },
    outputTokens: { total: NaN, text: 0, reasoning: 0 },
  }
  expect(build({ ...end('stop', 'stop'), usage }).answer?.tokens).toEqual({
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
  })
})

test('invalid JSON as input is detected, and no input is an empty object', () => {
  const call = (id: string, input: string): LanguageModelV4StreamPart => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: 'bash',
    input,
  })
  const { answer } = build(call('a', '{"command":'), call('b', ''), FINISH)
  expect([...answer!.unreadable]).toEqual(['a'])
  expect(answer?.parts).toMatchObject([{ input: {} }, { input: {} }])
})

test.each(['content-filter', 'error'] as const)(
  'an answer that ends with %s has no calls',
  (unified) => {
    const { answer } = build(
      { type: 'text-delta', id: '1', delta: 'No.' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'bash', input: '{"command":"ls"}' },
      end(unified, 'refusal'),
    )
    expect(answer).toMatchObject({ finish: unified, parts: [{ type: 'text', text: 'No.' }] })
  },
)

test('a stream that breaks off is not an answer, and an error is thrown', () => {
  expect(build({ type: 'text-start', id: '1' }).answer).toBeUndefined()
  expect(build(end('interrupted')).answer).toBeUndefined()
  expect(build(end('other')).answer).toBeUndefined()
  expect(build(end('tool-calls', 'tool_use')).answer).toBeUndefined()
  const error = { type: 'overloaded_error' }
  expect(() => build({ type: 'error', error })).toThrow()
})

test('an unknown finish reason is accepted', () => {
  const text = { type: 'text-delta', id: '1', delta: 'Hi' } as const
  expect(build(text, end('other', 'eos')).answer?.finish).toBe('other')
  expect(build(end('other', 'MALFORMED_RESPONSE')).answer).toBeUndefined()
})
