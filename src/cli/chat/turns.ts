import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { readOwnCommand } from '../../views/chat/commands.ts'
import type { Turns } from '../../views/chat/piped.ts'
import { readPhases, renderPrompt } from '../../chain/prompts/read-phases.ts'
import { UsageError } from '../command.ts'

/** One turn: the prompt, followed by piped input. */
export async function oneTurn(
  prompt: string | undefined,
  isTyped: boolean,
  isRaw: boolean,
): Promise<Turns> {
  // A terminal is read only where nothing else is said.
  const piped = isTyped && prompt !== undefined ? '' : await Bun.stdin.text()
  const text = joined(prompt ?? '', piped, isRaw)
  if (text.trim() === '') {
    throw new UsageError(
      'The message is empty.',
      'Write e.g. forkhestra chat -p "Explain this project."',
    )
  }
  // What cannot be understood is refused before there is a chat at all.
  if (!isRaw && readOwnCommand(text) === undefined) readPhases([text], 'the prompt')
  return one(text)
}

/** Piped input after a prompt is plain text, without commands. */
function joined(prompt: string, piped: string, isRaw: boolean): string {
  if (prompt.trim() === '' || piped.trim() === '') return prompt.trim() === '' ? piped : prompt
  if (isRaw) return `${prompt}\n\n${piped}`
  return renderPrompt([`${prompt}\n\n`, { value: piped }], 'the prompt')
}

async function* one(text: string): Turns {
  yield text
}

/** One turn for the prompt, then one per line. */
export async function* linesOf(prompt: string | undefined, stdin: Readable): Turns {
  if (prompt !== undefined) yield prompt
  for await (const line of createInterface({ input: stdin })) yield line
}
