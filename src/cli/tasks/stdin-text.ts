import { UserError } from '../../base/errors.ts'
import { formatBytes } from '../../base/files.ts'
import { UsageError, type Input } from '../command.ts'
import { readStdin } from '../read-stdin.ts'

/** Options that accept `-` for stdin. */
const LONG = ['description', 'plan', 'notes', 'append-notes']

/** Replaces `-` in one of these options with the text on stdin. */
export async function withStdin(input: Input): Promise<Input> {
  const asked = LONG.flatMap((option) => input.texts(option)).filter((value) => value === '-')
  if (asked.length === 0) return input
  if (asked.length > 1) throw new UsageError('Only one option can read from stdin.')
  const given = (await readTextOnStdin()).trimEnd()
  if (given === '')
    throw new UsageError('stdin is empty.', 'The value - reads the text from stdin.')
  const texts = (option: string) => {
    const values = input.texts(option)
    return LONG.includes(option) ? values.map((value) => (value === '-' ? given : value)) : values
  }
  return { ...input, texts, text: (option) => texts(option).at(-1) }
}

/** Far more than fits in a task file; stdin may be endless. */
const LIMIT = 64 * 1024 * 1024

export async function readTextOnStdin(): Promise<string> {
  const tooLong = () => new UserError(`stdin is longer than ${formatBytes(LIMIT)}.`)
  return new TextDecoder().decode(await readStdin(LIMIT, tooLong))
}
