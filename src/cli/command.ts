import { parseArgs } from 'node:util'
import { UserError } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'

/** A flag, or, with a `value`, an option that takes one. */
interface Option {
  readonly short?: string
  /** Placeholder in the help, e.g. `<path>`. */
  readonly value?: string
  readonly help: string
  readonly repeats?: boolean
}

export type Options = Readonly<Record<string, Option>>

/** A command as data: parsing, help and completion all come from it. */
export interface Command {
  readonly summary: string
  readonly usage: readonly string[]
  readonly examples: readonly (readonly [string, string])[]
  readonly options: Options
  /** Options that people expect, by name without dashes, and what to type instead. */
  readonly guesses?: Readonly<Record<string, string>>
  /** What `--json` prints: one object, or the events of a run, one per line. */
  readonly json?: 'object' | 'events'
  /** The only arguments that it takes; absent if it takes any. */
  readonly words?: readonly string[]
  run(input: Input): Promise<number>
}

export interface Input {
  readonly positionals: readonly string[]
  /** Arguments after `--`. */
  readonly rest: readonly string[]
  text(option: string): string | undefined
  /** All values of an option that repeats. */
  texts(option: string): readonly string[]
  flag(option: string): boolean
}

export class UsageError extends UserError {}

/** An option that the command does not have; `option` is its name without dashes. */
export class UnknownOption extends UsageError {
  readonly option: string

  constructor(option: string, message: string, hint?: string) {
    super(message, hint)
    this.option = option
  }
}

export const COMMON_OPTIONS: Options = { help: { short: 'h', help: 'show this help' } }

/** Reads the arguments of a command and refuses unknown options. */
export function parseInput(args: readonly string[], command: Command): Input {
  const options: Options = { ...command.options, ...COMMON_OPTIONS }
  const flags = new Set<string>()
  const values = new Map<string, string[]>()
  const positionals: string[] = []
  let rest: readonly string[] = []
  for (const token of readTokens(args, options)) {
    const word = args[token.index]!
    if (token.kind === 'positional') {
      positionals.push(word)
    } else if (token.kind === 'option-terminator') {
      rest = args.slice(token.index + 1)
      break
    } else if (Object.hasOwn(options, word.slice(1))) {
      // A long option with one dash.
      throw unknownOption(word, word, options, command.guesses)
    } else {
      const { name, rawName } = token
      const value = readOption(token, args, options, command.guesses)
      const known = values.get(name) ?? []
      if (value === undefined) flags.add(name)
      else if (known.length > 0 && options[name]?.repeats !== true)
        throw new UsageError(`Option ${rawName} is given twice.`)
      else values.set(name, [...known, value])
    }
  }
  const surplus = command.words?.length === 0 ? [...positionals, ...rest][0] : undefined
  if (surplus !== undefined && !flags.has('help'))
    throw new UsageError(`Unexpected argument '${surplus}'.`, `Usage: ${command.usage[0]}`)
  return {
    positionals,
    rest,
    text: (option) => values.get(option)?.at(-1),
    texts: (option) => values.get(option) ?? [],
    flag: (option) => flags.has(option),
  }
}

function readTokens(args: readonly string[], options: Options) {
  const config = Object.entries(options).map(([name, { short, value }]) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const)
    return [name, short === undefined ? { type } : { type, short }] as const
  })
  return parseArgs({
    // An arrow, or a chain that begins with one, looks like a group of one-letter options.
    args: args.map((word) => (/^-+>/.test(word) ? 'a' : word)),
    options: Object.fromEntries(config),
    strict: false,
    tokens: true,
  }).tokens
}

/** Whether --json was passed, even if the other arguments are invalid. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? undefined : end).includes('--json')
}

function isOption(word: string, options: Options): boolean {
  if (!word.startsWith('-')) return false
  const names = Object.entries(options).flatMap(([name, { short }]) => [`--${name}`, `-${short}`])
  return word === '--' || names.includes(word.split('=', 1)[0]!)
}

type OptionToken = Extract<ReturnType<typeof readTokens>[number], { kind: 'option' }>

/** The value; undefined for a flag. */
function readOption(
  { name, rawName, index, value, inlineValue }: OptionToken,
  args: readonly string[],
  options: Options,
  guesses: Command['guesses'],
): string | undefined {
  const option = Object.hasOwn(options, name) ? options[name]! : undefined
  if (option === undefined) throw unknownOption(name, rawName, options, guesses)
  if (option.value === undefined) {
    if (value === undefined) return undefined
    throw new UsageError(`Option ${rawName} takes no value, got '${value}'.`)
  }
  if (value === undefined) {
    throw new UsageError(`Option ${rawName} needs a value: ${rawName} ${option.value}`)
  }
  if (inlineValue) return value
  const next = args[index + 1]!
  // A prompt may begin with a dash, but an option in its place means that the value is missing.
  if (isOption(next, options)) {
    throw new UsageError(
      `Option ${rawName} needs a value, and ${next} is an option.`,
      `If it is meant as the value, write --${name}=${next}`,
    )
  }
  return next
}

function unknownOption(
  name: string,
  rawName: string,
  options: Options,
  guesses: Command['guesses'] = {},
): UnknownOption {
  const message = `Unknown option ${rawName}`
  if (Object.hasOwn(guesses, name)) return new UnknownOption(name, `${message}.`, guesses[name])
  const known = Object.keys(options).map((each) => `--${each}`)
  const close = nearest(rawName, known)
  return close === undefined
    ? new UnknownOption(name, message, `Known options: ${known.join(', ')}.`)
    : new UnknownOption(name, `${message}, did you mean ${close}?`)
}
