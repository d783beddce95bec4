import { expect, test } from 'bun:test'
import { makeErrorBody, makeMessage, renderStream } from './message.ts'

interface Event {
  readonly type: string
  readonly index?: number
  readonly content_block?: { readonly type: string }
  readonly delta?: Readonly<Record<string, string>>
}

const eventsOf = (chunks: readonly string[]) =>
  chunks.map((chunk): Event => {
    const [, name, json = ''] = /^event: (\w+)\ndata: (.*)\n\n$/.exec(chunk) ?? []
    const event = JSON.parse(json) as Event
    expect(event.type).toBe(name!)
    return event
  })

/** What the deltas of a block add up to. */
const joined = (events: readonly Event[], index: number, field: string) =>
  events.flatMap((event) => (event.index === index ? (event.delta?.[field] ?? '') : '')).join('')

const TURN = {
  thinking: 'Let me think about that for a good while.',
  text: `${'🎉'.repeat(60)} done`,
  tool: { name: 'Bash', input: { command: 'echo "a long command, in more than one piece"' } },
}

test('a stream has the events of the Messages API in order', () => {
  const events = eventsOf(renderStream(makeMessage(TURN, 'claude-x', 'id')))
  const kinds = events.map(({ type, content_block: block }) => block?.type ?? type)
  expect(kinds.filter((kind, index) => kind !== kinds[index - 1])).toEqual([
    'message_start',
    'ping',
    ...['thinking', 'text', 'tool_use'].flatMap((kind) => [
      kind,
      'content_block_delta',
      'content_block_stop',
    ]),
    'message_delta',
    'message_stop',
  ])
  expect(joined(events, 0, 'thinking')).toBe(TURN.thinking)
  expect(joined(events, 0, 'signature')).toBe('signed_id')
  expect(joined(events, 1, 'text')).toBe(TURN.text)
  expect(JSON.parse(joined(events, 2, 'partial_json'))).toEqual(TURN.tool.input)
  expect(JSON.stringify(events)).not.toContain('\\ud')
})

test('a megabyte is sent in at most a few hundred pieces', () => {
  expect(renderStream(makeMessage({ text: 'x'.repeat(1e6) }, 'm', 'id')).length).toBeLessThan(300)
})

test('usage and stop reason are as scripted, or match the answer', () => {
  const scripted = {
    text: 'a',
    usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
    stopReason: 'max_tokens',
  }
  expect(makeMessage(scripted, 'm', 'id')).toMatchObject({
    stop_reason: 'max_tokens',
    usage: {
      input_tokens: 1,
      output_tokens: 2,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 4,
    },
  })
  expect(makeMessage(TURN, 'm', 'id').stop_reason).toBe('tool_use')
  expect(makeMessage({ text: '' }, 'm', 'id')).toMatchObject({
    content: [],
    stop_reason: 'end_turn',
  })
})

test.each([
  [401, 'authentication_error'],
  [429, 'rate_limit_error'],
  [418, 'invalid_request_error'],
  [500, 'api_error'],
  [529, 'overloaded_error'],
])('an error %i is of the type %s unless the script says another', (status, type) => {
  expect(makeErrorBody({ status })).toMatchObject({ type: 'error', error: { type } })
  expect(makeErrorBody({ status, type: 'x', message: 'y' })).toMatchObject({
    error: { type: 'x', message: 'y' },
  })
})
