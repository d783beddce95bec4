import { UserError } from '../../base/errors.ts'
import { QueueError } from '../../queue/refusal.ts'
import { UsageError, type Input } from '../command.ts'
import { messageLimitFor } from './caller.ts'

/** A text on stdin, which must be one, and no longer than the run allows. */
export async function readStdinText(input: Input, what: 'prompt' | 'message'): Promise<string> {
  const bytes = await readUpTo(await messageLimitFor(input), what)
  // No program could be called with it; in a message it does no harm.
  if (what === 'prompt' && bytes.includes(0)) {
    throw new UserError('What came on stdin is not text: it has NUL bytes.')
  }
  const text = decode(bytes)
  if (text.trim() === '')
    throw new UsageError('There is nothing on stdin.', 'A - means: read it there.')
  return text
}

async function readUpTo(limit: number, what: 'prompt' | 'message'): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of Bun.stdin.stream()) {
    size += chunk.length
    // How long it would become nobody knows.
    if (size > limit) throw new QueueError({ kind: 'too_big', what, bytes: size, limit })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UserError('What came on stdin is not UTF-8 text.')
  }
}
