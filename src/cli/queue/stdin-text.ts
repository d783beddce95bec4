import { UserError } from '../../base/errors.ts'
import { QueueError } from '../../queue/refusal.ts'
import { UsageError, type Input } from '../command.ts'
import { messageLimitFor } from '../../host/queue/caller.ts'
import { queueRequest } from './arguments.ts'

/** Reads UTF-8 text from stdin, up to the size limit of the run. */
export async function readStdinText(input: Input, what: 'prompt' | 'message'): Promise<string> {
  const bytes = await readUpTo(await messageLimitFor(queueRequest(input)), what)
  // A program argument cannot contain NUL; a message can.
  if (what === 'prompt' && bytes.includes(0)) {
    throw new UserError('stdin is not text: it contains NUL bytes.')
  }
  const text = decode(bytes)
  if (text.trim() === '')
    throw new UsageError('stdin is empty.', 'A - means that the text is read from stdin.')
  return text
}

async function readUpTo(limit: number, what: 'prompt' | 'message'): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of Bun.stdin.stream()) {
    size += chunk.length
    // Do not read on: it may never end.
    if (size > limit) throw new QueueError({ kind: 'too_big', what, bytes: size, limit })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UserError('stdin is not UTF-8 text.')
  }
}
