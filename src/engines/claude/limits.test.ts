import { describe, expect, test } from 'bun:test'
import { ClaudeDecoder } from './decoder.ts'
import type { Fact, Failure } from '../engine.ts'

const NOW = new Date('2026-11-16T12:00:00Z')
const FIVE_PM = Date.UTC(2026, 10, 16, 17) / 1000
const LIMIT = "You've hit your limit · resets 5pm (UTC)"

function read(lines: readonly unknown[], loop = true): Fact[] {
  const all = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  const decoder = new ClaudeDecoder(loop, () => NOW)
  return [...decoder.push(Buffer.from(`${all.join('\n')}\n`)), ...decoder.end()]
}

const error = (more: object) => ({ type: 'result', subtype: 'success', is_error: true, ...more })
const limit = (info: object) => ({ type: 'rate_limit_event', rate_limit_info: info })
const text = (words: string, more: object = {}) => ({
  type: 'assistant',
  message: { id: '1', content: [{ type: 'text', text: words }] },
  ...more,
})

const synthetic = (words: string) => ({
  type: 'assistant',
  message: { id: '1', model: '<synthetic>', content: [{ type: 'text', text: words }] },
})

function failureOf(...lines: readonly unknown[]): Failure | undefined {
  const fact = read(lines).findLast(({ type }) => type === 'failure')
  return fact?.type === 'failure' ? fact.failure : undefined
}

describe('billing is known from the source of the key', () => {
  test.each<[unknown, string, unknown]>([
    ['none', 'claude-opus-5-5', 'subscription'],
    ['oauth', 'claude-opus-5-5', 'subscription'],
    ['ANTHROPIC_API_KEY', 'claude-opus-5-5', 'api'],
    ['apiKeyHelper', 'claude-opus-5-5', 'api'],
    ['/login managed key', 'claude-opus-5-5', 'api'],
    ['none', 'us.anthropic.claude-opus-5-5-v1:0', undefined],
    ['none', 'claude-opus-5-5@20261001', undefined],
    ['toString', 'claude-opus-5-5', undefined],
    [undefined, 'claude-opus-5-5', undefined],
  ])('%p with %s', (apiKeySource, model, billing) => {
    const init = { type: 'system', subtype: 'init', session_id: 's', model, apiKeySource }
    const more = billing === undefined ? {} : { billing }
    expect(read([init])[0]).toEqual({ type: 'session', id: 's', model, ...more } as Fact)
  })
})

describe('usage is added up as messages arrive', () => {
  const message = (id: string, usage: object, parent: string | null = null) => ({
    type: 'assistant',
    message: { id, content: [{ type: 'text', text: 'Hm' }], usage },
    parent_tool_use_id: parent,
  })
  const totals = (lines: readonly unknown[]) =>
    read(lines).flatMap((fact) => (fact.type === 'usage' ? [fact.tokens] : []))
  const tokens = (input: number, output: number, cacheRead = 0, cacheWrite = 0) => {
    return { input, output, cacheRead, cacheWrite }
  }

  test('the last usage of each message counts, including sub-agents', () => {
    const lines = [
      message('1', { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 5 }),
      message('1', { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 5 }),
      message('1', { input_tokens: 10, output_tokens: 8, cache_read_input_tokens: 5 }),
      message('2', { input_tokens: 3, output_tokens: 2, cache_creation_input_tokens: 7 }, 'tool'),
      message('1', { input_tokens: 10, output_tokens: 9, cache_read_input_tokens: 5 }),
    ]
    expect(totals(lines)).toEqual([
      tokens(10, 1, 5),
      tokens(10, 8, 5),
      tokens(13, 10, 5, 7),
      tokens(13, 11, 5, 7),
    ])
  })

  test('the usage of the result replaces the sum', () => {
    const result = { type: 'result', modelUsage: { a: { inputTokens: 99, outputTokens: 9 } } }
    const lines = [message('1', { input_tokens: 10, output_tokens: 1 }), result]
    expect(totals(lines)).toEqual([tokens(10, 1), tokens(99, 9)])
  })

  test('invalid usage is ignored', () => {
    const odd = [null, 'x', [], { input_tokens: '5' }]
    expect(totals(odd.map((usage) => message('1', usage as object)))).toEqual([])
    expect(totals([{ type: 'assistant', message: { usage: { input_tokens: 5 } } }])).toEqual([])
  })
})

describe('a failure', () => {
  const rejected = limit({ status: 'rejected', resetsAt: 1794789277, rateLimitType: 'five_hour' })

  test('at a limit gets its reset time from the event', () => {
    const result = error({ api_error: 'usage_limit_reached', api_error_status: 429, result: LIMIT })
    expect(failureOf(rejected, result)).toEqual({
      kind: 'rate_limited',
      message: LIMIT,
      resetsAt: 1794789277,
    })
  })

  test.each([
    [{ api_error: 'usage_limit_reached', api_error_status: 429 }],
    [{ api_error_status: 429 }],
    [{}],
  ])('at a limit without an event, with %j, gets its reset time from the message', (more) => {
    expect(failureOf(error({ ...more, result: LIMIT }))).toEqual({
      kind: 'rate_limited',
      message: LIMIT,
      resetsAt: FIVE_PM,
    })
  })

  test('with a rejected event and status 429 is rate limited, whatever the message', () => {
    expect(failureOf(rejected, error({ api_error_status: 429, result: 'x' }))).toEqual({
      kind: 'rate_limited',
      message: 'x',
      resetsAt: 1794789277,
    })
  })

  test.each([
    [{ status: 'allowed', overageStatus: 'rejected', resetsAt: 9 }],
    [{ status: 'allowed_warning', resetsAt: 9 }],
  ])('after %j is not rate limited', (info) => {
    expect(failureOf(limit(info), error({ result: 'Broken' }))).toEqual({
      kind: 'error',
      message: 'Broken',
    })
  })

  test('of another kind ignores an earlier limit event', () => {
    expect(failureOf(rejected, error({ result: 'Broken' }))).toEqual({
      kind: 'error',
      message: 'Broken',
    })
  })

  test.each<[object, Failure['kind']]>([
    [{ subtype: 'error_max_budget_usd', errors: ['Exceeded USD budget (0.2)'] }, 'budget'],
    [{ result: 'OAuth token has expired · Please run /login' }, 'auth_failed'],
    [{ result: "There's an issue with the selected model (x). It may not exist." }, 'auth_failed'],
    [{ result: 'API Error: Request timed out.' }, 'overloaded'],
    [{ result: 'I implemented the rate limit, it returns 429' }, 'error'],
  ])('with %j has the kind %s', (more, kind) => {
    expect(failureOf(error(more))?.kind).toBe(kind)
  })
})

describe('blocked', () => {
  const WORDS = 'I cannot go on.\n\nORCHESTRA_BLOCKED: no key'
  const BLOCKED: Fact = { type: 'blocked', reason: 'no key' }

  test.each([true, false])('is read from text of the agent itself, in a loop: %p', (loop) => {
    expect(read([text(WORDS)], loop)).toContainEqual(BLOCKED)
    expect(read([WORDS], loop)).toContainEqual(BLOCKED)
  })

  test.each<[string, unknown]>([
    ['a sub-agent', text(WORDS, { parent_tool_use_id: 'tool' })],
    ['a tool', { type: 'user', message: { content: [{ type: 'tool_result', content: WORDS }] } }],
    ['the result', { type: 'result', result: WORDS }],
    ['the CLI', synthetic(WORDS)],
    ['a closed fence', text(`\`\`\`\n${WORDS}\n\`\`\``)],
  ])('is ignored in the text of %s', (_, event) => {
    expect(read([event]).map(({ type }) => type)).not.toContain('blocked')
  })
})

test('a failure message at the end of plain text counts', () => {
  const fact = read(['working', 'Credit balance is too low']).at(-1)
  const failure = { kind: 'auth_failed', message: 'Credit balance is too low' } as const
  expect(fact).toEqual({ type: 'printed_failure', failure })
})
