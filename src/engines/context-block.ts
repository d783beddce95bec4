import { formatBytes } from '../base/files.ts'
import { printable } from '../base/printable.ts'
import type { FileRead } from './engine.ts'

const HEADING = 'These files were read for you. Each ends with the line that repeats its id.'

/** The files as a part of the prompt, for agents whose history nobody else can write. */
export function withContextBlock(
  prompt: string | undefined,
  reads: readonly FileRead[],
): string | undefined {
  if (reads.length === 0) return prompt
  const id = endMark(reads)
  const files = reads.map((read) => renderFile(read, id))
  return [HEADING, ...files, ...(prompt === undefined ? [] : [prompt])].join('\n\n')
}

/** The same files, but for those that a block of `limitBytes` has no room for: they are errors. */
export function fitIntoBlock(
  prompt: string | undefined,
  reads: readonly FileRead[],
  limitBytes: number,
): readonly FileRead[] {
  const isWhole = bytesOf(withContextBlock(prompt, reads)) <= limitBytes
  if (isWhole) return reads
  const named = reads.map((read) => (read.ok ? tooLong(read, limitBytes) : read))
  let left = limitBytes - bytesOf(withContextBlock(prompt, named))
  return reads.map((read, index) => {
    const instead = named[index]!
    const more = bytesOf(renderFile(read, NO_MARK)) - bytesOf(renderFile(instead, NO_MARK))
    if (more > left) return instead
    left -= more
    return read
  })
}

function tooLong({ path, text }: FileRead & { ok: true }, limitBytes: number): FileRead {
  const [length, limit] = [formatBytes(Buffer.byteLength(text)), formatBytes(limitBytes)]
  const problem = `it is ${length} long, and a prompt with its files may have ${limit}`
  return {
    path,
    ok: false,
    error: `Cannot hand over ${printable(path)}: ${problem}. Read it yourself.`,
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
/** As long as any. */
const NO_MARK = '0'.repeat(MARK_LENGTH)

/**
 * Made of what it encloses: no file can hold it, and the same files give the same prompt in every
 * iteration.
 */
function endMark(reads: readonly FileRead[]): string {
  const hash = new Bun.CryptoHasher('sha256')
  for (const read of reads) hash.update(JSON.stringify([read.path, read.ok ? read.text : null]))
  return hash.digest('hex').slice(0, MARK_LENGTH)
}
