import { UserError } from '../../base/errors.ts'
import { formatBytes } from '../../base/files.ts'
import { fitIntoBlock, withContextBlock } from '../context-block.ts'
import type { BinaryAgent, Engine, FileRead } from '../engine.ts'
import { plainDecoder } from './decoder.ts'

/** The longest prompt that is passed as an argument. */
const PROMPT_LIMIT_BYTES = 100 * 1024
/** Linux refuses a longer one. */
const ARGUMENT_LIMIT_BYTES = 128 * 1024

/** Any program that takes the prompt as its last argument and prints plain text. */
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
  limitScope: ({ name }) => name,
  withModel: (agent) => agent,
  describeTools: () => undefined,
}

function checkPrompt(agent: BinaryAgent, prompt: string, reads: readonly FileRead[]): void {
  const bytes = Buffer.byteLength(prompt)
  if (bytes <= PROMPT_LIMIT_BYTES) return
  const withFiles = reads.length === 0 ? '' : ' with its files'
  throw new UserError(
    `The prompt for '${agent.name}'${withFiles} has ${bytes} bytes; the limit for a program is ${PROMPT_LIMIT_BYTES} (${formatBytes(PROMPT_LIMIT_BYTES)}).`,
    reads.length === 0
      ? 'Write it to a file and name that file in the prompt.'
      : 'Name the files in the prompt instead of /read, and let the agent read them itself.',
  )
}

function checkArgument(agent: BinaryAgent, arg: string): void {
  const bytes = Buffer.byteLength(arg)
  if (bytes < ARGUMENT_LIMIT_BYTES) return
  throw new UserError(
    `An argument for '${agent.name}' has ${bytes} bytes; the system allows less than ${ARGUMENT_LIMIT_BYTES}.`,
    'Write it to a file and pass the path of that file.',
  )
}
