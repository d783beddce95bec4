import type { FileRead } from '../../engines/engine.ts'
import { CRLF_REMARK } from '../tools/line-ends.ts'
import type { SeenFile } from '../tools/seen.ts'
import type { CallPart, Message } from './entry.ts'

/** Providers want a user to speak first; it also keeps the model from reading them again. */
const BEFORE = 'Read these files first; you get them whole, as they are now.'

/** A file that was read, and how the conversation knows it from now on. */
export type SeenRead = FileRead & { readonly seen?: SeenFile | undefined }

/**
 * The files as the model would have read them by itself: one turn in which it asks for all of them,
 * one with all answers. `count` is how many calls there were before.
 */
export function readMessages(reads: readonly SeenRead[], count: number): Message[] {
  if (reads.length === 0) return []
  const calls = reads.map((read, index): CallPart => ({
    type: 'call',
    id: readId(read.path, count + index),
    name: 'read',
    input: { path: read.path },
  }))
  return [
    { type: 'user', text: BEFORE },
    { type: 'assistant', parts: calls, isMade: true },
    ...reads.map((read, index): Message => {
      const about = { type: 'result', id: calls[index]!.id, name: 'read' } as const
      return read.ok
        ? { ...about, text: numberLines(read.text), ...(read.seen && { seen: read.seen }) }
        : { ...about, text: read.error, isError: true }
    }),
  ]
}

/** The same for the same reads, so that caches of prompts hold from iteration to iteration. */
function readId(path: string, index: number): string {
  const hash = new Bun.CryptoHasher('sha256').update(path).digest('hex')
  return `toolu_read_${index}_${hash.slice(0, 12)}`
}

/** As the tool itself shows a file. */
function numberLines(text: string): string {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  if (lines.length === 0) return '[the file is empty]'
  const remarks = text.includes('\r\n') ? [CRLF_REMARK] : []
  return [...lines.map((line, index) => `${index + 1}\t${line}`), ...remarks].join('\n')
}
