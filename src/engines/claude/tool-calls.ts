import { oneLine, shorten } from '../../base/shorten.ts'
import type { Fact } from '../engine.ts'
import { asList, asObject, type Event } from './event.ts'

const LONGEST_ERROR = 300

type Call = Pick<Fact & { type: 'tool' }, 'name' | 'parent'>

/** Matches the results of tools, which name only the id of their call. */
export class ToolCalls {
  readonly #open = new Map<unknown, Call & { readonly since: number }>()

  begin(id: unknown, call: Call, now: Date): void {
    this.#open.set(id, { ...call, since: now.getTime() })
  }

  end(event: Event, now: Date): Fact[] {
    const blocks = asList(asObject(event['message'])?.['content']).map(asObject)
    return blocks.flatMap((block): Fact[] => {
      const call = this.#open.get(block?.['tool_use_id'])
      if (block?.['type'] !== 'tool_result' || call === undefined) return []
      this.#open.delete(block['tool_use_id'])
      const { since, ...rest } = call
      const error = block['is_error'] === true ? { error: textOf(block['content']) } : {}
      return [{ type: 'tool_ended', ms: Math.max(0, now.getTime() - since), ...rest, ...error }]
    })
  }
}

function textOf(content: unknown): string {
  const parts = typeof content === 'string' ? [content] : asList(content).map(partOf)
  const text = oneLine(parts.join(' ').replaceAll(/<\/?tool_use_error>/g, ''))
  return shorten(text, LONGEST_ERROR) || 'no message'
}

function partOf(block: unknown): string {
  const text = asObject(block)?.['text']
  return typeof text === 'string' ? text : ''
}
