import { parseArgs } from 'node:util'
import { UserError } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import { doubleQuote, shellWord } from '../base/shell-quote.ts'
import { own } from '../base/objects.ts'

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
  /** Set if `--json` prints the events of a run, one per line, instead of one object. */
  readonly json?: 'events'
  /** How many words come before `--` and the user's command; absent if it takes no command. */
  readonly wordsBeforeCommand?: number
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
  /** How often a flag is given: twice in `-vv`. */
  count(flag: string): number
  /** A hint for a command or prompt without quotes: `Quote the command: …`. */
  readonly quoteHint: string | undefined
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

export const COMMON_OPTIONS: Options = {
  color: {
    value: '<when>',
    help: 'colour: never, always or auto (default: auto, on a terminal)',
  },
  help: { short: 'h', help: 'show this help' },
}

/** Reads the arguments of a command and refuses unknown options. */
export function parseInput(args: readonly string[], command: Command): Input {
  const options: Options = { ...command.options, ...COMMON_OPTIONS }
  const flags: string[] = []
  const values = new Map<string, string[]>()
  const positionals: string[] = []
  let rest: readonly string[] = []
  const tokens = readTokens(args, options)
  const unquoted = findUnquoted(args, tokens, options)
  for (const token of tokens) {
    const word = args[token.index]!
    if (token.kind === 'positional' && positionals.length === command.wordsBeforeCommand)
      throw commandBeforeDashes(args, token.index, command)
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
      const isQuotable = unquoted !== undefined && token.index >= unquoted.from
      const hint = isQuotable ? unquoted.hint : undefined
      const value = readOption(token, args, options, command.guesses, hint)
      const known = values.get(name) ?? []
      if (value === undefined) flags.push(name)
      else if (known.length > 0 && options[name]?.repeats !== true)
        throw new UsageError(`Option ${rawName} is given twice.`)
      else values.set(name, [...known, value])
    }
  }
  const surplus = command.words?.length === 0 ? [...positionals, ...rest][0] : undefined
  if (surplus !== undefined && !flags.includes('help'))
    throw new UsageError(`Unexpected argument '${surplus}'.`, `Usage: ${command.usage[0]}`)
  return {
    positionals,
    rest,
    text: (option) => values.get(option)?.at(-1),
    texts: (option) => values.get(option) ?? [],
    flag: (option) => flags.includes(option),
    count: (flag) => flags.filter((name) => name === flag).length,
    quoteHint: unquoted?.hint,
  }
}

/** The error for a user's command without `--` before it. */
function commandBeforeDashes(args: readonly string[], at: number, { usage }: Command): UsageError {
  const [name] = usage[0]!.split(' <', 1)
  const words = args.toSpliced(at, 0, '--').map((word) => (word === '--' ? word : shellWord(word)))
  return new UsageError(
    `Unexpected argument '${args[at]}'.`,
    `Put -- before the command: ${name} ${words.join(' ')}`,
  )
}

/** Accepts unknown options; `-p=text` means the same as `--prompt=text`. */
export function readTokens(args: readonly string[], options: Options) {
  const config = Object.entries(options).map(([name, { short, value }]) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const)
    return [name, short === undefined ? { type } : { type, short }] as const
  })
  const { tokens } = parseArgs({
    // An arrow, or a chain that starts with one, looks like a group of one-letter options.
    args: args.map((word) => (/^-+>/.test(word) ? 'a' : word)),
    options: Object.fromEntries(config),
    strict: false,
    tokens: true,
  })
  return tokens.map((token) =>
    token.kind === 'option' && token.inlineValue === true && !token.rawName.startsWith('--')
      ? { ...token, value: token.value.replace(/^=/, '') }
      : token,
  )
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

type Token = ReturnType<typeof readTokens>[number]

const QUOTABLE: Readonly<Record<string, string>> = { '<command>': 'command', '<text>': 'prompt' }

/** The first one-word command or prompt that is followed by more words, up to the next known option. */
function findUnquoted(args: readonly string[], tokens: readonly Token[], options: Options) {
  for (const token of tokens) {
    const { kind, index } = token
    if (kind === 'option-terminator') return undefined
    if (kind === 'positional' || token.value === undefined || /\s/.test(token.value)) continue
    const option = own(options, token.name)
    const what = QUOTABLE[option?.value ?? '']
    if (option === undefined || what === undefined) continue
    const from = index + (token.inlineValue ? 1 : 2)
    const end = args.findIndex((word, at) => at >= from && isOption(word, options))
    const words = args.slice(from, end === -1 ? undefined : end)
    while (/^\w+=/.test(words.at(-1) ?? '')) words.pop()
    // The chain may come after its options.
    const hasChain = tokens.some((each) => each.kind === 'positional' && each.index < index)
    while (!hasChain && /^\.?\/|:\d+$|->/.test(words.at(-1) ?? '')) words.pop()
    if (words.length === 0) continue
    const name = token.name === 'prompt' ? '-p' : `--${token.name}`
    const text = doubleQuote([token.value, ...words].join(' '))
    return { from, hint: `Quote the ${what}: ${name} ${text}` }
  }
  return undefined
}

type OptionToken = Extract<Token, { kind: 'option' }>

/** The value; undefined for a flag. */
function readOption(
  { name, rawName, index, value, inlineValue }: OptionToken,
  args: readonly string[],
  options: Options,
  guesses: Command['guesses'],
  quoteHint: string | undefined,
): string | undefined {
  const option = own(options, name)
  if (option === undefined) throw unknownOption(name, rawName, options, guesses, quoteHint)
  if (option.value === undefined) {
    if (value === undefined) return undefined
    throw new UsageError(`Option ${rawName} takes no value, got '${value}'.`)
  }
  if (value === undefined) {
    throw new UsageError(`Option ${rawName} needs a value: ${rawName} ${option.value}`)
  }
  if (inlineValue) return value
  const next = args[index + 1]!
  // A prompt may start with a dash, but a known option here means that the value is missing.
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
  quoteHint?: string,
): UnknownOption {
  const message = `Unknown option ${rawName}`
  if (quoteHint !== undefined && !rawName.startsWith('--'))
    return new UnknownOption(name, `${message}.`, quoteHint)
  if (Object.hasOwn(guesses, name)) return new UnknownOption(name, `${message}.`, guesses[name])
  const known = Object.keys(options).map((each) => `--${each}`)
  const longer = known.filter((each) => rawName.length > 3 && each.startsWith(rawName))
  const close = nearest(rawName, known) ?? (longer.length === 1 ? longer[0] : undefined)
  if (close !== undefined) return new UnknownOption(name, `${message} (did you mean ${close}?)`)
  return quoteHint === undefined
    ? new UnknownOption(name, message, `Known options: ${known.join(', ')}.`)
    : new UnknownOption(name, `${message}.`, quoteHint)
}
