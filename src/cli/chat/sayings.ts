import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { readOwnCommand } from '../../chat/commands.ts'
import type { Sayings } from '../../chat/piped.ts'
import { readPhases, renderPrompt } from '../../prompt/read-phases.ts'
import { UsageError } from '../command.ts'

/** All of it as one turn: what was typed, and behind it what comes from a pipe. */
export async function oneSaying(
  prompt: string | undefined,
  isTyped: boolean,
  isRaw: boolean,
): Promise<Sayings> {
  // A terminal is read only where nothing else is said.
  const piped = isTyped && prompt !== undefined ? '' : await Bun.stdin.text()
  const text = joined(prompt ?? '', piped, isRaw)
  if (text.trim() === '') {
    throw new UsageError(
      'Nothing was said.',
      'Write e.g. forkhestra chat -p "Explain this project."',
    )
  }
  // What cannot be understood is refused before there is a chat at all.
  if (!isRaw && readOwnCommand(text) === undefined) readPhases([text], 'the prompt')
  return one(text)
}

/** Behind words of its own, what comes from a pipe is no more than text. */
function joined(prompt: string, piped: string, isRaw: boolean): string {
  if (prompt.trim() === '' || piped.trim() === '') return prompt.trim() === '' ? piped : prompt
  if (isRaw) return `${prompt}\n\n${piped}`
  return renderPrompt([`${prompt}\n\n`, { value: piped }], 'the prompt')
}

async function* one(text: string): Sayings {
  yield text
}

/** A turn for each line, behind what was typed. */
export async function* linesOf(prompt: string | undefined, stdin: Readable): Sayings {
  if (prompt !== undefined) yield prompt
  for await (const line of createInterface({ input: stdin })) yield line
}
