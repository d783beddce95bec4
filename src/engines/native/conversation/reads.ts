import type { Places } from '../../../base/places.ts'
import { readCallId } from '../../context-block.ts'
import type { FileRead } from '../../engine.ts'
import { CRLF_REMARK } from '../tools/line-ends.ts'
import { seenInPrompt } from '../tools/seen.ts'
import type { CallPart, Message } from './entry.ts'

/** Providers require a user message first; it also keeps the model from reading the files again. */
const BEFORE = 'Read these files first; you get all of their current content.'

/**
 * The files as if the model had read them: one turn with all calls, one with all results. `count` is
 * the number of earlier calls.
 */
export function readMessages(reads: readonly FileRead[], count: number, places: Places): Message[] {
  if (reads.length === 0) return []
  const calls = reads.map((read, index): CallPart => ({
    type: 'call',
    id: readCallId(read.path, count + index),
    name: 'read',
    input: { path: read.path },
  }))
  return [
    { type: 'user', text: BEFORE },
    { type: 'assistant', parts: calls, isMade: true },
    ...reads.map((read, index): Message => {
      const about = { type: 'result', id: calls[index]!.id, name: 'read' } as const
      if (!read.ok) return { ...about, text: read.error, isError: true }
      const seen = seenInPrompt(read.path, read.text, places)
      return { ...about, text: numberLines(read.text), ...(seen && { seen }) }
    }),
  ]
}

/** As the read tool shows a file. */
function numberLines(text: string): string {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  if (lines.length === 0) return '[the file is empty]'
  const remarks = text.includes('\r\n') ? [CRLF_REMARK] : []
  return [...lines.map((line, index) => `${index + 1}\t${line}`), ...remarks].join('\n')
}
