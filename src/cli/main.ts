import { UserError } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import { parseInput, UsageError, wantsJson } from './command.ts'
import { runCommand } from './commands/run.ts'
import { columns, renderHelp } from './help.ts'
import { renderError } from './render-error.ts'
import { CannotPrint } from './tasks/print.ts'
import { RESERVED_VERBS, VERBS } from './verbs.ts'

/** The front door: finds the verb, runs it, and turns a user's mistake into two lines and a code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args)
  } catch (error) {
    if (error instanceof UserError) {
      if (wantsJson(args) && !(error instanceof CannotPrint))
        console.log(await renderJsonError(error, args[0]))
      console.error(renderError('[forkhestra] Error', error))
      return error.exitCode
    }
    console.error('[forkhestra] This is a mistake in forkhestra itself. Please report it:')
    console.error(error)
    return 1
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
      `'${first}' will be a verb of a coming version.`,
      `For an agent of that name write: forkhestra run ${first}`,
    )
  }
  const verb = Object.hasOwn(VERBS, first) ? first : ''
  const command = VERBS[verb] ?? runCommand
  try {
    const input = parseInput(verb === '' ? args : args.slice(1), command)
    if (!input.flag('help')) return await command.run(input)
  } catch (error) {
    throw verb === '' && error instanceof UsageError ? withVerb(error, first) : error
  }
  console.log(verb === '' ? renderMainHelp() : renderHelp(verb, command))
  return 0
}

/** What is wrong for an agent may be right for a verb that was mistyped. */
function withVerb(error: UsageError, word: string): UsageError {
  const close = word.startsWith('-') ? undefined : nearest(word, Object.keys(VERBS))
  if (close === undefined) return error
  const guess = `'${word}' is no command; did you mean '${close}'?`
  return new UsageError(error.message, error.hint === undefined ? guess : `${guess}\n${error.hint}`)
}

/** Verbs whose `--json` is one object and no run. */
const ONE_OBJECT: ReadonlySet<string> = new Set(
  [
    'init list validate doctor prompt runs show cost clean stop retry-now',
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

function renderMainHelp(): string {
  const verbs = Object.entries(VERBS).map(([name, { summary }]) => [name, summary] as const)
  return `${renderHelp('', runCommand)}\n\nVerbs:\n${columns(verbs).join('\n')}`
}
