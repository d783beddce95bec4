import { COMMON_OPTIONS, type Options } from '../command.ts'
import type { Answer, Candidate, Program, Source, Typed } from './program.ts'

const NOTHING: Answer = { candidates: [] }

/** What stands alone in a program whose every other call begins with a verb. */
const BARE_OPTIONS: readonly Candidate[] = [
  { value: '--help', text: COMMON_OPTIONS['help']?.help },
  { value: '--version', text: 'print the version' },
]

/** What may stand in the place of the last of these words, which is still being written. */
export async function answer(program: Program, words: readonly string[]): Promise<Answer> {
  const [first = '', ...behind] = words
  const name = own(program.aliases, first) ?? first
  if (behind.length > 0 && Object.hasOwn(program.verbs, name)) {
    return behindVerb(program, name, behind)
  }
  const verbs = behind.length === 0 && !first.startsWith('-') ? verbsOf(program) : []
  if (program.unwritten === undefined) {
    return { candidates: first.startsWith('-') ? BARE_OPTIONS : verbs }
  }
  const { candidates, ...rest } = await behindVerb(program, program.unwritten, words)
  return { candidates: [...verbs, ...candidates], ...rest }
}

function verbsOf({ verbs, aliases }: Program): Candidate[] {
  return [
    ...Object.entries(verbs).map(([value, { summary }]) => ({ value, text: summary })),
    ...Object.entries(aliases).map(([value, name]) => ({ value, text: verbs[name]?.summary })),
  ]
}

async function behindVerb(
  program: Program,
  verb: string,
  words: readonly string[],
): Promise<Answer> {
  const target = own(program.verbs, verb)
  if (target === undefined) return NOTHING
  if ('program' in target) return answer(await target.program(), words)
  const options = { ...(await target.load()).options, ...COMMON_OPTIONS }
  return amongOptions(program, verb, options, words)
}

async function amongOptions(
  program: Program,
  verb: string,
  options: Options,
  words: readonly string[],
): Promise<Answer> {
  const current = words.at(-1) ?? ''
  const { typed, pending, isRest } = readTyped(verb, words.slice(0, -1), options)
  const ask = async (source: Source | undefined) => (await source?.(typed)) ?? NOTHING
  if (isRest) return ask(program.rest)
  if (pending !== undefined) return ask(own(program.values, pending))
  const [, prefix = '', name = ''] = /^(--([^=]+)=)/.exec(current) ?? []
  if (prefix !== '') return prefixed(prefix, await ask(own(program.values, name)))
  if (current.startsWith('-')) return { candidates: optionsOf(options, typed) }
  const found = await own(program.words, verb)?.(typed)
  return found ?? { candidates: current === '' ? optionsOf(options, typed) : [] }
}

function prefixed(prefix: string, { candidates, ...rest }: Answer): Answer {
  const long = candidates.map(({ value, text }) => ({ value: prefix + value, text }))
  return { candidates: long, ...rest }
}

/** Those that may still be given. */
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

/** Refuses nothing: what is half written is often wrong. */
function readTyped(verb: string, words: readonly string[], options: Options): Reading {
  const given = new Map<string, string[]>()
  const positionals: string[] = []
  const typed = { verb, positionals, options: given }
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

/** Of `--name`, `--name=value`, `-n` and `-nvalue`. */
function readOption(word: string, options: Options): { name: string; value: string | undefined } {
  if (word.startsWith('--')) {
    const [name = '', ...value] = word.slice(2).split('=')
    return { name, value: value.length === 0 ? undefined : value.join('=') }
  }
  const named = Object.entries(options).find(([, { short }]) => short === word[1])
  return { name: named?.[0] ?? '', value: word.length === 2 ? undefined : word.slice(2) }
}

/** A word such as `constructor` names nothing. */
function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
