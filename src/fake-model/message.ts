import { parseDuration } from '../base/durations.ts'
import { unreachable } from '../base/errors.ts'
import type { ErrorTurn, ScriptedTool, ScriptedTurn } from './script-schema.ts'

type Block =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: 'tool_use'; readonly id: string } & ScriptedTool)

/** An answer as the Messages API gives it. */
type Message = ReturnType<typeof makeMessage>

/** `id` makes the ids of the answer and of its tool calls unique. */
export function makeMessage(turn: ScriptedTurn, model: string, id: string) {
  const content = makeContent(turn, id)
  const callsTool = content.some(({ type }) => type === 'tool_use')
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: turn.stopReason ?? (callsTool ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: makeUsage(turn),
  }
}

function makeContent({ thinking, text, tool, tools }: ScriptedTurn, id: string): Block[] {
  const calls = tools ?? (tool === undefined ? [] : [tool])
  return [
    ...(thinking ? [{ type: 'thinking', thinking, signature: `signed_${id}` } as const] : []),
    ...(text ? [{ type: 'text', text } as const] : []),
    ...calls.map(
      (call, index) => ({ type: 'tool_use', id: `toolu_${id}_${index}`, ...call }) as const,
    ),
  ]
}

function makeUsage({ usage = { input: 100, output: 20 } }: ScriptedTurn) {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite ?? 0,
    cache_read_input_tokens: usage.cacheRead ?? 0,
    output_tokens: usage.output,
  }
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** The body of an error as the Messages API gives it. */
export function makeErrorBody({ status, type, message }: ErrorTurn): object {
  const fallback = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const error = { type: type ?? fallback, message: message ?? `scripted error ${status}` }
  return { type: 'error', error }
}

const FIVE_HOURS_MS = 5 * 3_600_000

/** The error of a subscription that has reached its usage limit. */
export function makeLimitError(resetsIn: string): ErrorTurn {
  const ms = parseDuration(resetsIn, 'limit')
  return {
    status: 429,
    message: 'This request would exceed the limit of your account.',
    headers: {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(Math.ceil((Date.now() + ms) / 1000)),
      'anthropic-ratelimit-unified-representative-claim':
        ms <= FIVE_HOURS_MS ? 'five_hour' : 'seven_day',
      'retry-after': String(Math.ceil(ms / 1000)),
    },
  }
}

/** A message as server-sent events, in pieces as a model sends them. */
export function renderStream(message: Message): string[] {
  const { stop_reason, stop_sequence, usage } = message
  const start = {
    ...message,
    content: [],
    stop_reason: null,
    usage: { ...usage, output_tokens: 1 },
  }
  return [
    render({ type: 'message_start', message: start }),
    render({ type: 'ping' }),
    ...message.content.flatMap(renderBlock),
    render({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage }),
    render({ type: 'message_stop' }),
  ]
}

function renderBlock(block: Block, index: number): string[] {
  const [content_block, deltas] = open(block)
  return [
    render({ type: 'content_block_start', index, content_block }),
    ...deltas.map((delta) => render({ type: 'content_block_delta', index, delta })),
    render({ type: 'content_block_stop', index }),
  ]
}

/** The empty block that starts it, and the deltas that fill it. */
function open(block: Block): [object, object[]] {
  switch (block.type) {
    case 'thinking':
      return [
        { ...block, thinking: '', signature: '' },
        [
          ...pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: block.signature },
        ],
      ]
    case 'text':
      return [
        { ...block, text: '' },
        pieces(block.text).map((text) => ({ type: 'text_delta', text })),
      ]
    case 'tool_use': {
      const json = pieces(JSON.stringify(block.input))
      return [
        { ...block, input: {} },
        json.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      ]
    }
    default:
      return unreachable(block)
  }
}

const LEAST_LENGTH = 24
const MOST_PIECES = 200

/** Cuts between code points, so that no piece has half a surrogate pair. */
function pieces(text: string): string[] {
  const length = Math.max(LEAST_LENGTH, Math.ceil(text.length / MOST_PIECES))
  return text.match(new RegExp(`.{1,${length}}`, 'gsu')) ?? []
}

function render(event: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
