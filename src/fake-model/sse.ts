import { unreachable } from '../base/errors.ts'
import type { Block, Message } from './message.ts'

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
  const characters = Array.from(text)
  const length = Math.max(LEAST_LENGTH, Math.ceil(characters.length / MOST_PIECES))
  const count = Math.ceil(characters.length / length)
  return Array.from({ length: count }, (_, index) =>
    characters.slice(index * length, (index + 1) * length).join(''),
  )
}

function render(event: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
