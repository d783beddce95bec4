import { describe, expect, test } from 'bun:test'
import { ClaudeDecoder } from './decoder.ts'
import type { Fact, Failure } from '../engine.ts'

const MARKER = 'ORCHESTRA_COMPLETE'

const assistant = (id: string, block: object, parent: string | null = null) => ({
  type: 'assistant',
  message: { id, role: 'assistant', content: [block] },
  parent_tool_use_id: parent,
})
const text = (words: string) => ({ type: 'text', text: words })
const toolUse = (name: string, input: object) => ({ type: 'tool_use', id: 't', name, input })
const toolResult = (content: string) => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content }] },
})
const result = (more: object = {}) => ({
  // Its type is not the first key in the real stream either.
  subtype: 'success',
  type: 'result',
  is_error: false,
  num_turns: 2,
  total_cost_usd: 0.5,
  modelUsage: { a: { inputTokens: 10, outputTokens: 2, cacheReadInputTokens: 3 } },
  ...more,
})

function read(lines: readonly unknown[], { size = 1 << 20, loop = true } = {}): Fact[] {
  const all = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  const bytes = Buffer.from(all.join('\n') + '\n')
  let time = 0
  const decoder = new ClaudeDecoder(loop, () => new Date((time += 5)))
  const facts: Fact[] = []
  for (let at = 0; at < bytes.length; at += size) {
    facts.push(...decoder.push(bytes.subarray(at, at + size)))
  }
  return [...facts, ...decoder.end()]
}

const kinds = (facts: readonly Fact[]) => facts.map(({ type }) => type)

test.each([1, 2, 3, 7, 64, 1 << 20])(
  'a stream gives the same facts in chunks of %i bytes',
  (size) => {
    const lines = [
      { type: 'system', subtype: 'init', session_id: 's-1', model: 'm-1' },
      assistant('1', text('Grüße 🎉')),
      assistant('1', toolUse('Bash', { command: 'npm test\n  --all', description: 'x' })),
      toolResult(`wrote\n${MARKER}\n`),
      { type: 'rate_limit_event', rate_limit_info: { status: 'allowed_warning', resetsAt: 9 } },
      assistant('2', text(`Done.\n\n${MARKER}`)),
      result(),
    ]
    expect(read(lines, { size })).toEqual([
      { type: 'session', id: 's-1', model: 'm-1' },
      { type: 'message', text: 'Grüße 🎉' },
      { type: 'tool', name: 'Bash', brief: 'npm test --all' },
      { type: 'tool_ended', name: 'Bash', ms: 5 },
      { type: 'limit', status: 'allowed_warning', resetsAt: 9 },
      { type: 'message', text: `Done.\n\n${MARKER}` },
      { type: 'marker' },
      {
        type: 'usage',
        turns: 2,
        costUsd: 0.5,
        tokens: { input: 10, output: 2, cacheRead: 3, cacheWrite: 0 },
      },
      { type: 'failure', failure: undefined },
    ])
  },
)

describe('a marker', () => {
  test.each([
    ['in a tool result', toolResult(MARKER)],
    ['of a sub-agent', assistant('1', text(MARKER), 'toolu_1')],
    ['in an echoed prompt', { type: 'user', message: { role: 'user', content: MARKER } }],
    ['in the input of a tool', assistant('1', toolUse('Bash', { command: MARKER }))],
    ['in the result alone', result({ result: MARKER })],
    [
      'in the error of a server',
      { type: 'assistant', message: { id: '1', model: '<synthetic>', content: [text(MARKER)] } },
    ],
    ['in an unknown event', { type: 'news', text: MARKER }],
  ])('%s does not count', (_, event) => {
    expect(kinds(read([event]))).not.toContain('marker')
  })

  test('in a message that also calls a tool counts', () => {
    const facts = read([
      assistant('1', text(MARKER)),
      assistant('1', toolUse('Bash', { command: 'ls' })),
    ])
    expect(kinds(facts)).toEqual(['message', 'marker', 'tool', 'failure'])
  })

  test('in a fence that its message leaves open counts at the end of the message', () => {
    const lines = [assistant('1', text(`\`\`\`\n${MARKER}`)), assistant('2', text('```'))]
    expect(kinds(read(lines))).toContain('marker')
  })

  test('in a closed fence is refused, even across several texts of one message', () => {
    const lines = [assistant('1', text(`\`\`\`\n${MARKER}`)), assistant('1', text('```'))]
    expect(read(lines)).toContainEqual({ type: 'marker_refused', why: 'code_fence' })
  })

  test('is not looked for if the agent runs once', () => {
    expect(kinds(read([assistant('1', text(MARKER)), MARKER], { loop: false }))).not.toContain(
      'marker',
    )
  })
})

describe('lines that are not events are text', () => {
  test('from a wrapper that prints plain text', () => {
    const facts = read(['working', '', '{ not json', '[1]', '{"a":1}', '```', MARKER, '```'])
    expect(facts.filter(({ type }) => type === 'message')).toHaveLength(8)
    expect(facts).toContainEqual({ type: 'marker_refused', why: 'code_fence' })
    expect(kinds(read(['working', `\u001b[1m${MARKER}\u001b[0m`]))).toContain('marker')
  })

  test('including long and blank lines, in a loop or not', () => {
    const long = `${'x'.repeat(600)} "user"`
    for (const loop of [true, false]) {
      const messages = read(['one', '', long], { loop }).map((fact) =>
        fact.type === 'message' ? fact.text : '',
      )
      expect(messages).toEqual(['one', '', long])
    }
  })

  test('between events, with Windows line ends', () => {
    const facts = read(['npm warn x\r', assistant('1', text('a')), 'done\r'])
    expect(kinds(facts)).toEqual(['message', 'message', 'message', 'failure'])
    expect(facts[0]).toEqual({ type: 'message', text: 'npm warn x' })
    expect(facts[2]).toEqual({ type: 'message', text: 'done' })
  })

  test.each([MARKER, 'ORCHESTRA_BLOCKED: forged'])('among events %s does not count', (line) => {
    for (const lines of [
      [line, assistant('1', text('a')), result()],
      [assistant('1', text('a')), line, result()],
      [assistant('1', text('a')), result(), line],
      ['npm warn x', assistant('1', text('a')), line],
    ]) {
      const found = kinds(read(lines))
      expect(found).not.toContain('marker')
      expect(found).not.toContain('blocked')
    }
  })
})

describe('a result', () => {
  const FAILURES: readonly (readonly [object, Failure['kind'], string])[] = [
    [{ result: 'API Error: 400 nope' }, 'error', 'API Error: 400 nope'],
    [{ subtype: 'error_max_turns', errors: ['Reached 2'] }, 'max_turns', 'Reached 2'],
    [{ api_error_status: 401, result: 'Invalid API key' }, 'auth_failed', 'Invalid API key'],
    [
      { result: 'Not logged in · Please run /login' },
      'auth_failed',
      'Not logged in · Please run /login',
    ],
    [{ result: 'Credit balance is too low' }, 'auth_failed', 'Credit balance is too low'],
    [{ api_error_status: 402, result: 'billing_error' }, 'auth_failed', 'billing_error'],
    [{ api_error_status: 402, result: 'Payment required' }, 'auth_failed', 'Payment required'],
    [{ api_error_status: 404, result: 'x' }, 'auth_failed', 'x'],
    [{ result: 'API Error: Rate limit reached' }, 'overloaded', 'API Error: Rate limit reached'],
    [{ api_error_status: 529, result: 'Overloaded' }, 'overloaded', 'Overloaded'],
    [{ api_error_status: 429, result: 'rejected' }, 'overloaded', 'rejected'],
    [{ result: 'API Error: Connection refused' }, 'overloaded', 'API Error: Connection refused'],
    [{ api_error: 'usage_limit_reached', api_error_status: 429, result: 'x' }, 'rate_limited', 'x'],
    [{ subtype: 'error_during_execution' }, 'error', 'error_during_execution'],
  ]
  test.each(FAILURES)('with an error and %j is a failure', (more, kind, message) => {
    expect(read([result({ is_error: true, ...more })])).toContainEqual({
      type: 'failure',
      failure: { kind, message },
    })
  })

  test('that is missing is a failure, unless only plain text was printed', () => {
    const failure = { kind: 'error', message: 'ended in the middle of its answer' } as const
    expect(read([assistant('1', text('Hm'))]).at(-1)).toEqual({ type: 'failure', failure })
    expect(kinds(read(['plain text']))).not.toContain('failure')
  })

  test('of a later answer replaces an earlier one', () => {
    const facts = read([result({ is_error: true, result: 'x' }), result({ num_turns: 5 })])
    expect(facts.findLast(({ type }) => type === 'failure')).toEqual({
      type: 'failure',
      failure: undefined,
    })
  })
})

test('retries after a server error are reported', () => {
  const retry = { attempt: 1, max_retries: 10, retry_delay_ms: 2000, error_status: 529 }
  const event = { type: 'system', subtype: 'api_retry', ...retry, error: 'overloaded' }
  expect(read([event, result()])[0]).toEqual({
    type: 'notice',
    text: 'claude will retry in 2 s (1/10): 529 overloaded',
  })
})

test('invalid events are ignored', () => {
  const odd = [
    'null',
    '{"type":1}',
    '{"type":"assistant"}',
    '{"type":"assistant","message":{"content":"x"}}',
    '{"type":"assistant","message":{"content":[null,1,{"type":"text"},{"type":"tool_use"}]}}',
    '{"type":"system"}',
    '{"type":"rate_limit_event","rate_limit_info":null}',
    '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1e20}}',
    '{"type":"result"}',
    '{"type":"result","is_error":true,"modelUsage":{"a":null}}',
  ]
  expect(() => read(odd)).not.toThrow()
})
