import { formatBytes } from '../base/files.ts'
import { printable } from '../base/terminal/printable.ts'
import type { FileRead } from './engine.ts'

const HEADING = 'These files were read for you. Each ends with a line that repeats its id.'

/** Puts the files into the prompt, for agents whose history we cannot write. */
export function withContextBlock(
  prompt: string | undefined,
  reads: readonly FileRead[],
): string | undefined {
  if (reads.length === 0) return prompt
  const id = endMark(reads)
  const files = reads.map((read) => renderFile(read, id))
  return [HEADING, ...files, ...(prompt === undefined ? [] : [prompt])].join('\n\n')
}

/** Replaces files that do not fit into a block of `limitBytes` by errors. */
export function fitIntoBlock(
  prompt: string | undefined,
  reads: readonly FileRead[],
  limitBytes: number,
): readonly FileRead[] {
  const isWhole = bytesOf(withContextBlock(prompt, reads)) <= limitBytes
  if (isWhole) return reads
  const named = reads.map((read) => (read.ok ? omitTooLong(read, limitBytes) : read))
  let left = limitBytes - bytesOf(withContextBlock(prompt, named))
  return reads.map((read, index) => {
    const instead = named[index]!
    const more = bytesOf(renderFile(read, NO_MARK)) - bytesOf(renderFile(instead, NO_MARK))
    if (more > left) return instead
    left -= more
    return read
  })
}

function omitTooLong({ path, text }: FileRead & { ok: true }, limitBytes: number): FileRead {
  const [length, limit] = [formatBytes(Buffer.byteLength(text)), formatBytes(limitBytes)]
  const problem = `it is ${length}, and the limit for a prompt with its files is ${limit}`
  return {
    path,
    ok: false,
    error: `Cannot include ${printable(path)}: ${problem}. Read it yourself.`,
  }
}

function bytesOf(text = ''): number {
  return Buffer.byteLength(text)
}

function renderFile(read: FileRead, id: string): string {
  const path = JSON.stringify(printable(read.path))
  if (!read.ok) return `<file path=${path} error=${JSON.stringify(printable(read.error))}/>`
  const text = read.text.replace(/^\uFEFF/, '')
  const end = text === '' || text.endsWith('\n') ? '' : '\n'
  return `<file path=${path} id="${id}">\n${text}${end}</file id="${id}">`
}

const MARK_LENGTH = 24
/** As long as a real one. */
const NO_MARK = '0'.repeat(MARK_LENGTH)

/**
 * A hash of the files: no file can contain it, and the prompt is the same in every iteration, which
 * keeps caches valid.
 */
function endMark(reads: readonly FileRead[]): string {
  const hash = new Bun.CryptoHasher('sha256')
  for (const read of reads) hash.update(JSON.stringify([read.path, read.ok ? read.text : null]))
  return hash.digest('hex').slice(0, MARK_LENGTH)
}

/** Depends on the reads only, so that prompt caches stay valid from iteration to iteration. */
export function readCallId(path: string, index: number): string {
  const hash = new Bun.CryptoHasher('sha256').update(path).digest('hex')
  return `toolu_read_${index}_${hash.slice(0, 12)}`
}
