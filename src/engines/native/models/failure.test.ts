import { expect, test } from 'bun:test'
import { BrokenAnswer, classifyFailure } from './failure.ts'

const NOW = Date.parse('2026-11-17T12:00:00Z')
const api = (statusCode: number, message = 'no', more: object = {}) =>
  Object.assign(new Error(message), { statusCode, responseHeaders: {}, responseBody: '', ...more })

test.each<[string, unknown, string, boolean]>([
  ['a wrong key', api(401), 'auth_failed', false],
  ['no right', api(403), 'auth_failed', false],
  ['no payment', api(402), 'auth_failed', false],
  ['an unknown model', api(404), 'auth_failed', false],
  ['an empty account', api(400, 'Your credit balance is too low'), 'auth_failed', false],
  [
    'a quota that is not paid for',
    api(429, 'quota', { responseBody: '{"error":{"code":"insufficient_quota"}}' }),
    'auth_failed',
    false,
  ],
  [
    'a limit of Google that mentions billing',
    api(429, 'You exceeded your current quota, please check your plan and billing details'),
    'rate_limited',
    true,
  ],
  [
    'a limit of OpenAI that mentions billing',
    api(429, 'Rate limit reached. Visit https://platform.openai.com/account/billing'),
    'rate_limited',
    true,
  ],
  ['a server that is down and has billing on its page', api(503, 'billing'), 'overloaded', true],
  [
    'a limit in the middle',
    { type: 'rate_limit_error', message: 'rate_limit' },
    'rate_limited',
    true,
  ],
  ['an incomplete answer', new BrokenAnswer('cut'), 'overloaded', true],
  [
    'an unreadable answer',
    Object.assign(new Error('JSON'), { name: 'AI_JSONParseError' }),
    'overloaded',
    true,
  ],
  [
    'the same at Anthropic, with the answer',
    api(400, 'input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000'),
    'error',
    false,
  ],
  ['a key that Google does not know', api(400, 'API key not valid.'), 'auth_failed', false],
  ['too many requests', api(429), 'rate_limited', true],
  ['an overload', api(529), 'overloaded', true],
  ['an error of the server', api(503), 'overloaded', true],
  ['a server that is too slow', api(408), 'overloaded', true],
  ['a wrong request', api(400), 'error', false],
  ['a context that is full', api(400, 'prompt is too long: 3 > 2'), 'error', false],
  [
    'the same at OpenAI',
    api(400, 'x', { responseBody: 'context_length_exceeded' }),
    'error',
    false,
  ],
  ['the same at Google', api(400, 'The input token count (9) exceeds the maximum'), 'error', false],
  ['a request that is too large', api(413), 'error', false],
  ['no connection', new TypeError('fetch failed'), 'overloaded', true],
  ['a reset', Object.assign(new Error('read'), { code: 'ECONNRESET' }), 'overloaded', true],
  [
    'an answer that broke off',
    api(200, 'Failed to process successful response'),
    'overloaded',
    true,
  ],
  [
    'an overload in the middle',
    { type: 'overloaded_error', message: 'Overloaded' },
    'overloaded',
    true,
  ],
  ['anything else', { what: 'ever' }, 'error', false],
])('%s', (_, error, kind, isAgain) => {
  const { failure, retry } = classifyFailure(error, NOW)
  expect([failure.kind, retry !== undefined]).toEqual([kind as never, isAgain])
})

test.each<[string, unknown, string]>([
  ['an unreachable server', Object.assign(api(0), { statusCode: undefined }), 'no'],
  ['a server that refuses the key', api(401), '401 no'],
])('the message about %s has the address without secrets', (_, error, words) => {
  const url = 'https://me:pass@models.example/v1/messages?key=k'
  const { failure } = classifyFailure(Object.assign(error as Error, { url }), NOW)
  expect(failure.message).toBe(`${words} (https://models.example/v1/messages)`)
})

test('a full context is reported with a hint', () => {
  expect(classifyFailure(api(413, 'too large'), NOW).failure).toMatchObject({
    message: 'the model context is full: 413 too large. Split the work into smaller prompts',
    cause: 'context_full',
  })
})

test.each<[string, object, number | undefined]>([
  ['seconds', { responseHeaders: { 'retry-after': '30' } }, 30_000],
  ['milliseconds', { responseHeaders: { 'retry-after-ms': '250', 'retry-after': '9' } }, 250],
  ['a date', { responseHeaders: { 'retry-after': 'Tue, 17 Nov 2026 12:02:00 GMT' } }, 120_000],
  ['a delay in the body', { responseBody: '{"retryDelay": "34.5s"}' }, 34_500],
  ['nothing', {}, undefined],
  ['nonsense', { responseHeaders: { 'retry-after': 'later' } }, undefined],
])('the delay before a retry: %s', (_, more, afterMs) => {
  const { failure, retry } = classifyFailure(api(429, 'slow down', more), NOW)
  expect(retry?.afterMs).toBe(afterMs)
  const resetsAt = afterMs === undefined ? undefined : Math.ceil((NOW + afterMs) / 1000)
  expect(failure.resetsAt).toBe(resetsAt)
})
