import { UserError } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import { PlanError } from '../plan/problems.ts'
import { parseInput, UnknownOption, UsageError, wantsJson } from './command.ts'
import { runCommand } from './commands/run.ts'
import { guessVerb } from './first-guesses.ts'
import { guardConsole } from './guard-console.ts'
import { printHelp, renderMainHelp } from './print-help.ts'
import { renderError } from './render-error.ts'
import { CannotPrint } from './tasks/print.ts'
import { RESERVED_VERBS, VERBS } from './verbs.ts'

/** The front door: finds the verb, runs it, and turns a user's mistake into two lines and a code. */
export async function main(args: readonly string[]): Promise<number> {
  guardConsole()
  try {
    return await withJsonError(args, () => dispatch(args))
  } catch (error) {
    if (error instanceof UserError) {
      for (const warning of error instanceof PlanError ? error.warnings : [])
        console.error(`[forkhestra] Warning: ${warning}`)
      console.error(renderError('[forkhestra] Error', error))
      return error.exitCode
    }
    console.error('[forkhestra] This is a mistake in forkhestra itself. Please report it:')
    console.error(error)
    return 1
  }
}

async function withJsonError(args: readonly string[], run: () => Promise<number>): Promise<number> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof UserError && !(error instanceof CannotPrint) && wantsJson(args))
      console.log(await renderJsonError(error, args[0]))
    throw error
  }
}

async function dispatch(args: readonly string[]): Promise<number> {
  const [first] = args
  if (first === 'tasks') {
    const { tasksMain } = await import('./tasks/main.ts')
    return tasksMain(args.slice(1))
  }
  if (first === undefined) {
    console.log(renderMainHelp())
    return 2
  }
  if (RESERVED_VERBS.has(first)) {
    throw new UserError(
      `'${first}' is reserved for a later version.`,
      `To run an agent of that name: forkhestra run ${first}`,
    )
  }
  const verb = Object.hasOwn(VERBS, first) ? first : ''
  const command = VERBS[verb] ?? runCommand
  try {
    const input = parseInput(verb === '' ? args : args.slice(1), command)
    if (!input.flag('help')) return await command.run(input)
    // `forkhestra --help chat` asks for the help of chat.
    const [word = ''] = verb === '' ? input.positionals : [verb]
    return await printHelp(Object.hasOwn(VERBS, word) ? [word] : [])
  } catch (error) {
    throw verb === '' && error instanceof UsageError ? withVerb(error, args) : error
  }
}

/** What is wrong for an agent may be right for a verb that was mistyped. */
function withVerb(error: UsageError, [word = '', ...more]: readonly string[]): UsageError {
  if (error instanceof UnknownOption && Object.hasOwn(VERBS, error.option))
    return new UsageError(error.message, `Write: forkhestra ${error.option}`)
  if (word.startsWith('-')) return error
  const close = nearest(word, Object.keys(VERBS))
  const guess = guessVerb(word, more) ?? (close && `forkhestra ${[close, ...more].join(' ')}`)
  if (guess === undefined) return error
  return new UsageError(error.message, `'${word}' is not a command. Did you mean: ${guess}`)
}

/** Verbs whose `--json` is one object and no run. */
const ONE_OBJECT: ReadonlySet<string> = new Set(
  [
    'init list validate doctor prompt version status runs show cost clean stop retry-now',
    'push run-queue queue check receive inbox send cancel',
  ].flatMap((words) => words.split(' ')),
)

/** A script that asked for JSON gets the refusal as JSON, too: a run as its only event. */
async function renderJsonError(error: UserError, first: string | undefined): Promise<string> {
  const { exitCode, message, hint, problems } = error
  if (ONE_OBJECT.has(first ?? '')) return JSON.stringify({ ok: false, problems })
  const { makeIdentity } = await import('./identity.ts')
  const words = { message, ...(hint === undefined ? {} : { hint }) }
  return JSON.stringify(makeIdentity().stamp({ type: 'run_refused', exitCode, ...words }))
}
