import type { ErrorTurn, Tool, Turn } from './script-schema.ts'

export type Block =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: 'tool_use'; readonly id: string } & Tool)

/** An answer as the Messages API gives it. */
export interface Message {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: readonly Block[]
  readonly stop_reason: string
  readonly stop_sequence: null
  readonly usage: Usage
}

interface Usage {
  readonly input_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
  readonly output_tokens: number
}

/** `id` makes the ids of the answer and of its tool calls unique. */
export function makeMessage(turn: Turn, model: string, id: string): Message {
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

function makeContent({ thinking, text, tool, tools }: Turn, id: string): Block[] {
  const calls = tools ?? (tool === undefined ? [] : [tool])
  return [
    ...(thinking ? [{ type: 'thinking', thinking, signature: `signed_${id}` } as const] : []),
    ...(text ? [{ type: 'text', text } as const] : []),
    ...calls.map(
      (call, index) => ({ type: 'tool_use', id: `toolu_${id}_${index}`, ...call }) as const,
    ),
  ]
}

function makeUsage({ usage = { input: 100, output: 20 } }: Turn): Usage {
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
