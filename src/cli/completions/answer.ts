import { COMMON_OPTIONS, type Options } from '../command.ts'
import { loadCommand, summariesOf, type Program } from '../program.ts'
import type { Answer, Candidate, Completions, Source, Typed } from './program.ts'

const NOTHING: Answer = { candidates: [] }

/** For programs that require a command. */
const BARE_OPTIONS: readonly Candidate[] = [
  { value: '--help', text: COMMON_OPTIONS['help']?.help },
  { value: '--version', text: 'print the version' },
]

/** Completions for the last of these words. */
export async function answer(completions: Completions, words: readonly string[]): Promise<Answer> {
  const { program } = completions
  const [first = '', ...rest] = words
  const name = own(program.aliases ?? {}, first) ?? first
  if (rest.length > 0 && Object.hasOwn(program.commands, name)) {
    return afterCommand(completions, name, rest)
  }
  const isFirst = rest.length === 0 && !first.startsWith('-')
  const commands = isFirst ? await commandsOf(program) : []
  if (program.fallback === undefined) {
    return { candidates: first.startsWith('-') ? BARE_OPTIONS : commands }
  }
  const { candidates, ...others } = await afterCommand(completions, program.fallback, words)
  return { candidates: [...commands, ...candidates], ...others }
}

async function commandsOf(program: Program): Promise<Candidate[]> {
  const summaries = new Map(await summariesOf(program))
  const named = [...summaries].map(([value, text]) => ({ value, text }))
  const aliases = Object.entries(program.aliases ?? {})
  return [...named, ...aliases.map(([value, name]) => ({ value, text: summaries.get(name) }))]
}

async function afterCommand(
  completions: Completions,
  name: string,
  words: readonly string[],
): Promise<Answer> {
  const inner = own(completions.programs ?? {}, name)
  if (inner !== undefined) return answer(await inner(), words)
  const command = await loadCommand(completions.program, name)
  if (command === undefined || 'commands' in command) return NOTHING
  const options = { ...command.options, ...COMMON_OPTIONS }
  return amongOptions(completions, name, options, words)
}

async function amongOptions(
  completions: Completions,
  command: string,
  options: Options,
  words: readonly string[],
): Promise<Answer> {
  const current = words.at(-1) ?? ''
  const { typed, pending, isRest } = readTyped(command, words.slice(0, -1), options)
  const ask = async (source: Source | undefined) => (await source?.(typed)) ?? NOTHING
  if (isRest) return ask(completions.rest)
  if (pending !== undefined) return ask(own(completions.values, pending))
  const [, prefix = '', name = ''] = /^(--([^=]+)=)/.exec(current) ?? []
  if (prefix !== '') return prefixed(prefix, await ask(own(completions.values, name)))
  if (current.startsWith('-')) return { candidates: optionsOf(options, typed) }
  const found = await own(completions.words, command)?.(typed)
  return found ?? { candidates: current === '' ? optionsOf(options, typed) : [] }
}

function prefixed(prefix: string, { candidates, ...rest }: Answer): Answer {
  const long = candidates.map(({ value, text }) => ({ value: prefix + value, text }))
  return { candidates: long, ...rest }
}

/** Options that may still be given. */
function optionsOf(options: Options, { options: given }: Typed): Candidate[] {
  return Object.entries(options)
    .filter(([name, { repeats }]) => repeats === true || !given.has(name))
    .map(([name, { help }]) => ({ value: `--${name}`, text: help }))
}

interface Reading {
  readonly typed: Typed
  /** The option whose value comes next. */
  readonly pending: string | undefined
  readonly isRest: boolean
}

/** Accepts everything: an unfinished command line is often invalid. */
function readTyped(command: string, words: readonly string[], options: Options): Reading {
  const given = new Map<string, string[]>()
  const positionals: string[] = []
  const typed = { command, positionals, options: given }
  let pending: string | undefined
  for (const word of words) {
    if (pending !== undefined) {
      given.get(pending)?.push(word)
      pending = undefined
    } else if (word === '--') return { typed, pending, isRest: true }
    else if (!word.startsWith('-') || word === '-') positionals.push(word)
    else {
      const { name, value } = readOption(word, options)
      const values = given.get(name) ?? []
      given.set(name, value === undefined ? values : [...values, value])
      if (value === undefined && own(options, name)?.value !== undefined) pending = name
    }
  }
  return { typed, pending, isRest: false }
}

/** Reads `--name`, `--name=value`, `-n` and `-nvalue`. */
function readOption(word: string, options: Options): { name: string; value: string | undefined } {
  if (word.startsWith('--')) {
    const [name = '', ...value] = word.slice(2).split('=')
    return { name, value: value.length === 0 ? undefined : value.join('=') }
  }
  const named = Object.entries(options).find(([, { short }]) => short === word[1])
  return { name: named?.[0] ?? '', value: word.length === 2 ? undefined : word.slice(2) }
}

/** Ignores inherited names such as `constructor`. */
function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
