import { cut } from '../../views/terminal/columns.ts'
import { UsageError, type Input } from '../command.ts'
import { SHELLS } from '../commands/general.ts'
import { complete } from './complete.ts'
import type { Suggestions, Candidate, Completions } from './program.ts'
import { renderScript, type Shell } from './scripts.ts'
import { quoteValue, readWord } from './words.ts'

/** Maximum width of a description. */
const WIDEST = 72

/** The command `completions`: prints the script for a shell, or the candidates for the words after `--`. */
export async function printCompletions(completions: Completions, input: Input): Promise<number> {
  const [shell, ...more] = input.positionals
  const known = SHELLS.find((name) => name === shell)
  if (known === undefined || more.length > 0) {
    throw new UsageError(
      shell === undefined
        ? 'No shell given.'
        : `No completions for '${[shell, ...more].join(' ')}'.`,
      `Use one of: ${SHELLS.map((name) => `${completions.program.name} completions ${name}`).join(', ')}`,
    )
  }
  if (input.rest.length === 0) console.log(renderScript(known, completions.program.name))
  else console.log(await renderAnswer(completions, known, input.rest))
  return 0
}

/** The first line says which paths the shell should add; each further line is a candidate. */
async function renderAnswer(
  completions: Completions,
  shell: Shell,
  words: readonly string[],
): Promise<string> {
  const meant = shell === 'bash' ? words.map((word) => readWord(word).text) : words
  const { candidates, paths = 'none' } = await completeOrNothing(completions, meant)
  const clean = candidates.filter(({ value }) => value !== '' && !/\p{Cc}/u.test(value))
  const lines =
    shell === 'bash'
      ? forBash(clean, words.at(-1) ?? '')
      : clean.map(
          ({ value, text = '' }) =>
            `${value}\t${cut(text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim(), WIDEST)}`,
        )
  return [paths, ...lines].join('\n')
}

/** Completion never reports errors. */
async function completeOrNothing(
  completions: Completions,
  words: readonly string[],
): Promise<Suggestions> {
  try {
    return await complete(completions, words)
  } catch {
    return { candidates: [] }
  }
}

/** Bash does not filter or quote candidates itself. */
function forBash(candidates: readonly Candidate[], raw: string): string[] {
  const { text, open } = readWord(raw)
  return candidates
    .filter(({ value }) => value.toLowerCase().startsWith(text.toLowerCase()))
    .flatMap(({ value }) => quoteValue(value, open) ?? [])
}
