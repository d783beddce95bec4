import { UserError } from '../base/errors.ts'
import { shellWord } from '../base/shell-quote.ts'
import { isTerminal } from '../base/linux/is-terminal.ts'
import { chooseColour, COLOUR_CHOICES, type ColourChoice } from '../base/terminal/colour.ts'
import { indentRest, printableLines } from '../base/terminal/printable.ts'
import { own } from '../base/objects.ts'
import { PlanError } from '../chain/plan/problems.ts'
import { quoteLines } from '../engines/marker/line-quoter.ts'
import { VERSION } from '../host/version.ts'
import { parseInput, UsageError, wantsJson, type Command } from './command.ts'
import { renderHelp } from './help.ts'
import { CannotPrint, print } from './print.ts'

/** A program in the binary, selected by the name it is called with. */
export interface Program {
  readonly name: string
  readonly summary: string
  readonly prefix: string
  /** Some are loaded on demand. A command may be a program itself. */
  readonly commands: Readonly<Record<string, Command | (() => Promise<Command | Program>)>>
  readonly aliases?: Readonly<Record<string, string>>
  /** The command to run if the first word is not a command. */
  readonly fallback?: string
  /** False if it works without arguments. */
  readonly needsWords?: false
  /** Names of future commands. */
  readonly reserved?: ReadonlySet<string>
  readonly help: () => Promise<string>
  /** Makes a better error if the first word is not a command, or the fallback refuses the arguments. */
  readonly guess: (words: readonly string[], error?: UsageError) => UsageError | undefined
}

/** Finds and runs the command, and turns a `UserError` into a message and an exit code. */
export async function runProgram(program: Program, args: readonly string[]): Promise<number> {
  guardConsole()
  const found: { command?: Command } = {}
  try {
    return await dispatch(program, args, found)
  } catch (error) {
    return report(program, error, args, found.command)
  }
}

function printVersion(): number {
  console.log(VERSION)
  return 0
}

async function dispatch(
  program: Program,
  args: readonly string[],
  found: { command?: Command },
): Promise<number> {
  const [first, ...rest] = args
  if (first === undefined && program.needsWords !== false) {
    await printHelp(program, [])
    return 2
  }
  if (first === '--version' || first === '-V') return printVersion()
  if (first === '--help' || first === '-h') {
    const words = program.fallback === undefined || nameOf(program, rest[0]) ? rest : []
    return printHelp(program, words)
  }
  if (first !== undefined && program.reserved?.has(first) === true) {
    throw new UserError(
      `'${first}' is reserved for a later version.`,
      `To run an agent of that name: forkhestra run ${first}`,
    )
  }
  const name = nameOf(program, first)
  const command = await loadCommand(program, name ?? program.fallback ?? '')
  if (command === undefined) throw unknownCommand(program, args)
  if ('commands' in command) return runProgram(command, rest)
  found.command = command
  try {
    const input = parseInput(name === undefined ? args : rest, command)
    if (!input.flag('help')) {
      const [word = ''] = input.positionals
      // Otherwise `--cwd x status` would look for an agent called `status`.
      if (name === undefined && nameOf(program, word)) throw lateCommand(program, args, word)
      if (input.flag('version')) return printVersion()
      chooseColour(readColour(input.text('color')))
      return await command.run(input)
    }
    // `forkhestra -v --help chat` asks for the help of chat.
    const word = nameOf(program, name ?? input.positionals[0])
    return await printHelp(program, word === undefined ? [] : [word])
  } catch (error) {
    if (name !== undefined || !(error instanceof UsageError)) throw error
    throw program.guess(args, error) ?? error
  }
}

function readColour(text = 'auto'): ColourChoice {
  const choice = COLOUR_CHOICES.find((known) => known === text)
  if (choice !== undefined) return choice
  throw new UsageError(`--color is '${text}'.`, `Use one of: ${COLOUR_CHOICES.join(', ')}.`)
}

/** The error for an option that comes before its command. */
export function lateCommand(
  { name, fallback }: Pick<Program, 'name' | 'fallback'>,
  args: readonly string[],
  word: string,
): UsageError {
  const at = args.lastIndexOf(word)
  const others = args.toSpliced(at, 1).map(shellWord)
  const run = [name, fallback, ...others, word].join(' ')
  return new UsageError(
    `'${word}' comes after an option.`,
    [
      `Put the command first: ${[name, word, ...others].join(' ')}`,
      ...(word === fallback ? [] : [`To run an agent of that name: ${run}`]),
    ].join('\n'),
  )
}

/** The command that a word names, directly or by an alias. */
function nameOf({ commands, aliases = {} }: Program, word: string | undefined): string | undefined {
  if (word === undefined) return undefined
  const name = own(aliases, word) ?? word
  return Object.hasOwn(commands, name) ? name : undefined
}

/** A command by its name, without aliases. */
export async function loadCommand(
  { commands }: Program,
  name: string,
): Promise<Command | Program | undefined> {
  const command = own(commands, name)
  return typeof command === 'function' ? command() : command
}

function unknownCommand(program: Program, words: readonly string[]): UsageError {
  const error = new UsageError(`Unknown command '${words[0]}'.`, `See: ${program.name} --help`)
  return program.guess(words) ?? error
}

export async function printHelp(program: Program, words: readonly string[]): Promise<number> {
  const [word, ...more] = words
  if (word === undefined) {
    console.log(await program.help())
    return 0
  }
  const name = nameOf(program, word)
  const command = name && (await loadCommand(program, name))
  if (!command) throw unknownCommand(program, words)
  if ('commands' in command) return printHelp(command, more)
  console.log(renderHelp(command, name === program.fallback ? undefined : program.name))
  return 0
}

export async function summariesOf(program: Program): Promise<[string, string][]> {
  const rows: [string, string][] = []
  for (const name of Object.keys(program.commands))
    rows.push([name, (await loadCommand(program, name))!.summary])
  return rows
}

async function report(
  program: Program,
  error: unknown,
  args: readonly string[],
  command: Command | undefined,
): Promise<number> {
  const { name, prefix } = program
  if (!(error instanceof UserError)) {
    console.error(`${name}: internal error. Please report it:`)
    console.error(error)
    return 1
  }
  if (wantsJson(args) && !(error instanceof CannotPrint)) {
    try {
      console.log(await renderJsonError(error, command))
    } catch (lost) {
      return report(program, lost, args, command)
    }
  }
  for (const warning of error instanceof PlanError ? error.warnings : [])
    console.error(`[forkhestra] Warning: ${warning}`)
  console.error(renderError(prefix, error))
  return error.exitCode
}

/** Prefix, problem and hint, without control characters, because they quote foreign text. */
export function renderError(prefix: string, { message, hint }: UserError): string {
  const lines = [`${prefix}: ${message}`, ...(hint === undefined ? [] : [hint])].join('\n')
  return printableLines(lines.replaceAll('\n', '\n  '))
}

/** With --json, an error is also JSON; for a run it is the only event. */
async function renderJsonError(error: UserError, command: Command | undefined): Promise<string> {
  const { exitCode, message, hint, problems } = error
  if (command?.json !== 'events') return JSON.stringify({ ok: false, problems })
  const { makeIdentity } = await import('../host/identity.ts')
  const about = { message, ...(hint === undefined ? {} : { hint }) }
  return JSON.stringify(makeIdentity().stamp({ type: 'run_refused', exitCode, ...about }))
}

/**
 * Our lines quote foreign text: on a terminal, its control characters are removed, and inside a run it must not
 * count as the agent's own marker. The runtime's `console.log` would hide write errors.
 */
function guardConsole(): void {
  console.log = print
  const isShown = isTerminal(2)
  for (const name of ['error', 'warn'] as const) {
    const write = console[name].bind(console)
    console[name] = (...words: unknown[]) => {
      write(
        ...words.map((word) => {
          if (typeof word !== 'string') return word
          const text = word.startsWith('[forkhestra] ') ? indentRest(word) : word
          return quoteLines(isShown ? printableLines(text) : text, process.env)
        }),
      )
    }
  }
}
