import { UsageError, type Input } from '../command.ts'

/** The options that take longer texts. */
const LONG = ['description', 'plan', 'notes', 'append-notes']

/** What was typed, with the text on stdin where one of the longer texts is `-`. */
export async function withStdin(input: Input): Promise<Input> {
  const asked = LONG.flatMap((option) => input.texts(option)).filter((value) => value === '-')
  if (asked.length === 0) return input
  if (asked.length > 1) throw new UsageError('Only one text can come from stdin.')
  const given = (await Bun.stdin.text()).trimEnd()
  if (given === '') throw new UsageError('There is nothing on stdin.', 'A - means: read it there.')
  const texts = (option: string) => {
    const values = input.texts(option)
    return LONG.includes(option) ? values.map((value) => (value === '-' ? given : value)) : values
  }
  return { ...input, texts, text: (option) => texts(option).at(-1) }
}
