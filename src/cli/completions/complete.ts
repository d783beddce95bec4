import { own } from '../../base/objects.ts'
import { COMMON_OPTIONS, readTokens, type Options } from '../command.ts'
import { loadCommand, summariesOf, type Program } from '../program.ts'
import type { Suggestions, Candidate, Completions, ValueSource, Typed } from './program.ts'

const NOTHING: Suggestions = { candidates: [] }

/** Used by programs that require a command. */
const BARE_OPTIONS: readonly Candidate[] = [
  { value: '--help', text: COMMON_OPTIONS['help']?.help },
  { value: '--version', text: 'print the version' },
]

/** Completions for the last of these words. */
export async function complete(
  completions: Completions,
  words: readonly string[],
): Promise<Suggestions> {
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
): Promise<Suggestions> {
  const inner = own(completions.programs ?? {}, name)
  if (inner !== undefined) return complete(await inner(), words)
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
): Promise<Suggestions> {
  const current = words.at(-1) ?? ''
  const { typed, pending, isRest } = readTyped(command, words.slice(0, -1), options)
  const ask = async (source: ValueSource | undefined) => (await source?.(typed)) ?? NOTHING
  if (isRest) return ask(completions.rest)
  if (pending !== undefined) return ask(own(completions.values, pending))
  const [, prefix = '', name = ''] = /^(--([^=]+)=)/.exec(current) ?? []
  if (prefix !== '') return prefixed(prefix, await ask(own(completions.values, name)))
  if (current.startsWith('-')) return { candidates: optionsOf(options, typed) }
  const found = await own(completions.words, command)?.(typed)
  return found ?? { candidates: current === '' ? optionsOf(options, typed) : [] }
}

function prefixed(prefix: string, { candidates, ...rest }: Suggestions): Suggestions {
  const long = candidates.map(({ value, text }) => ({ value: prefix + value, text }))
  return { candidates: long, ...rest }
}

/** Options that may still be given. */
function optionsOf(options: Options, { options: given }: Typed): Candidate[] {
  return Object.entries(options)
    .filter(([name, { repeats }]) => repeats === true || !given.has(name))
    .map(([name, { help }]) => ({ value: `--${name}`, text: help }))
}

/** Accepts anything, because an unfinished command line is often invalid. */
function readTyped(command: string, words: readonly string[], options: Options) {
  const given = new Map<string, string[]>()
  const positionals: string[] = []
  const typed: Typed = { command, positionals, options: given }
  /** The option whose value comes next. */
  let pending: string | undefined
  for (const token of readTokens(words, options)) {
    if (token.kind === 'option-terminator') return { typed, pending, isRest: true }
    if (token.kind === 'positional') positionals.push(token.value)
    else {
      const { name, value } = token
      given.set(name, [...(given.get(name) ?? []), ...(value === undefined ? [] : [value])])
      if (value === undefined && own(options, name)?.value !== undefined) pending = name
    }
  }
  return { typed, pending, isRest: false }
}
