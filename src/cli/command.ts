import { UserError } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import { readTokens, type OptionToken } from './tokens.ts'

/** A flag, or, with a `value`, an option that takes one. */
interface Option {
  readonly short?: string
  /** Placeholder in the help, e.g. `<path>`. */
  readonly value?: string
  readonly help: string
  /** May be given more than once. */
  readonly repeats?: boolean
}

export type Options = Readonly<Record<string, Option>>

/** A command as data: parsing, help and completion all come from it. */
export interface Command {
  readonly summary: string
  readonly usage: readonly string[]
  /** Command and what it does. */
  readonly examples: readonly (readonly [string, string])[]
  readonly options: Options
  /** Options that people expect, by name without dashes, and what to type instead. */
  readonly guesses?: Readonly<Record<string, string>>
  /** What `--json` prints: one object, or the events of a run, one per line. */
  readonly json?: 'object' | 'events'
  /** The only words that it takes, for completion; absent where it takes words of any kind. */
  readonly words?: readonly string[]
  run(input: Input): Promise<number>
}

/** The arguments of a command. */
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
  const options = { ...command.options, ...COMMON_OPTIONS }
  const values = new Map<string, string | true>()
  const lists = new Map<string, string[]>()
  const positionals: string[] = []
  let rest: readonly string[] = []
  for (const token of readTokens(args, options)) {
    if (token.kind === 'rest') rest = token.words
    else if (token.kind === 'word') positionals.push(token.value)
    else {
      const value = readOption(token, options, command.guesses)
      const list = lists.get(token.name) ?? []
      if (typeof value === 'string') lists.set(token.name, [...list, value])
      const isOnce = options[token.name]?.repeats !== true
      if (isOnce && typeof value === 'string' && values.has(token.name)) {
        throw new UsageError(`Option ${token.rawName} is given twice.`)
      }
      values.set(token.name, value)
    }
  }
  const surplus = command.words?.length === 0 ? [...positionals, ...rest][0] : undefined
  if (surplus !== undefined && !values.has('help'))
    throw new UsageError(`Unexpected argument '${surplus}'.`, `Usage: ${command.usage[0]}`)
  return {
    positionals,
    rest,
    text: (option) => {
      const value = values.get(option)
      return typeof value === 'string' ? value : undefined
    },
    texts: (option) => lists.get(option) ?? [],
    flag: (option) => values.get(option) === true,
  }
}

/** Whether a script asks, also where the rest of its words cannot be understood. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? undefined : end).includes('--json')
}

function isOption(word: string, options: Options): boolean {
  if (!word.startsWith('-')) return false
  const names = Object.entries(options).flatMap(([name, { short }]) => [`--${name}`, `-${short}`])
  return word === '--' || names.includes(word.split('=', 1)[0]!)
}

function readOption(
  token: OptionToken,
  options: Options,
  guesses: Command['guesses'] = {},
): string | true {
  const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined
  if (option === undefined) {
    const known = Object.keys(options).map((name) => `--${name}`)
    if (Object.hasOwn(guesses, token.name)) {
      const hint = guesses[token.name]
      throw new UnknownOption(token.name, `Unknown option ${token.rawName}.`, hint)
    }
    const close = nearest(token.rawName, known)
    throw new UnknownOption(
      token.name,
      `Unknown option ${token.rawName}${close === undefined ? '' : `, did you mean ${close}?`}`,
      close === undefined ? `Known options: ${known.join(', ')}.` : undefined,
    )
  }
  if (option.value === undefined) {
    if (token.value === undefined) return true
    throw new UsageError(`Option ${token.rawName} takes no value, got '${token.value}'.`)
  }
  const { rawName, value } = token
  if (value === undefined) {
    throw new UsageError(`Option ${rawName} needs a value: ${rawName} ${option.value}`)
  }
  // A prompt may begin with a dash, but a whole option in its place is one that lost its value.
  if (token.isInline !== true && isOption(value, options)) {
    throw new UsageError(
      `Option ${rawName} needs a value, and ${value} is an option.`,
      `If it is meant as the value, write --${token.name}=${value}`,
    )
  }
  return value
}
