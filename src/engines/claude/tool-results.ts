import { LineReader } from '../line-reader.ts'
import { asList, asObject, parseEvent } from './event.ts'

const LONGEST_LINE = 64 * 1024 * 1024

/** The results of tools in the output of `claude`. */
export class ToolResults {
  readonly #lines = new LineReader(LONGEST_LINE, (line) => this.#take(line.toString()))
  readonly #calls = new Set<unknown>()
  /** In the order in which events report the ends of tools. */
  readonly all: string[] = []

  push(bytes: Uint8Array): void {
    this.#lines.push(bytes)
  }

  #take(line: string): void {
    if (!line.includes('"tool_')) return
    const content = asObject(parseEvent(line)?.['message'])?.['content']
    for (const block of asList(content).map(asObject)) {
      if (block?.['type'] === 'tool_use') this.#calls.add(block['id'])
      const isKnown = block?.['type'] === 'tool_result' && this.#calls.delete(block['tool_use_id'])
      if (isKnown) this.all.push(textOf(block['content']))
    }
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = asList(content).map(asObject)
  return parts
    .map((part) =>
      typeof part?.['text'] === 'string' ? part['text'] : `[${String(part?.['type'])}]`,
    )
    .join('\n')
}
