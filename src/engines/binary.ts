import { UserError } from '../base/errors.ts'
import { formatBytes } from '../base/files.ts'
import { fitIntoBlock, withContextBlock } from './context-block.ts'
import type { BinaryAgent, Engine, FileRead } from './engine.ts'
import { plainDecoder } from './plain-decoder.ts'

/** The longest prompt that is handed over as an argument. */
const PROMPT_LIMIT_BYTES = 100 * 1024
/** Linux refuses a longer one. */
const ARGUMENT_LIMIT_BYTES = 128 * 1024

/** Any program: arguments, then the prompt as the last one; it speaks plain text. */
export const binaryEngine: Engine<BinaryAgent> = {
  prepare(agent, turn) {
    const reads = fitIntoBlock(turn.prompt, turn.reads ?? [], PROMPT_LIMIT_BYTES)
    const text = withContextBlock(turn.prompt, reads)
    checkPrompt(agent, text ?? '', reads)
    turn.args.forEach((arg) => checkArgument(agent, arg))
    const command = agent.interpreter === undefined ? [] : [agent.interpreter]
    const prompt = text === undefined ? [] : [text]
    return {
      kind: 'process',
      argv: [...command, agent.program, ...turn.args, ...prompt],
      env: {},
      decode: (stream) => plainDecoder(stream, turn.loop),
    }
  },
}

function checkPrompt(agent: BinaryAgent, prompt: string, reads: readonly FileRead[]): void {
  const bytes = Buffer.byteLength(prompt)
  if (bytes <= PROMPT_LIMIT_BYTES) return
  const withFiles = reads.length === 0 ? '' : ' with the files that it reads'
  throw new UserError(
    `The prompt for '${agent.name}'${withFiles} is ${bytes} bytes long; a program takes at most ${PROMPT_LIMIT_BYTES} (${formatBytes(PROMPT_LIMIT_BYTES)}).`,
    reads.length === 0
      ? 'Write it to a file and let the prompt name that file.'
      : 'Name the files in the prompt instead of /read, and let the agent read them itself.',
  )
}

function checkArgument(agent: BinaryAgent, arg: string): void {
  const bytes = Buffer.byteLength(arg)
  if (bytes < ARGUMENT_LIMIT_BYTES) return
  throw new UserError(
    `An argument for '${agent.name}' is ${bytes} bytes long; the system takes less than ${ARGUMENT_LIMIT_BYTES}.`,
    'Write it to a file and let the argument name that file.',
  )
}
