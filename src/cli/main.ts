import { UserError } from '../base/errors.ts'
import { parseInput, wantsJson } from './command.ts'
import { runCommand } from './commands/run.ts'
import { columns, renderHelp } from './help.ts'
import { renderError } from './render-error.ts'
import { RESERVED_VERBS, VERBS } from './verbs.ts'

/** The front door: finds the verb, runs it, and turns a user's mistake into two lines and a code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args)
  } catch (error) {
    if (error instanceof UserError) {
      if (wantsJson(args)) console.log(await renderJsonError(error, args[0]))
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
  const input = parseInput(verb === '' ? args : args.slice(1), command)
  if (input.flag('help')) {
    console.log(verb === '' ? renderMainHelp() : renderHelp(verb, command))
    return 0
  }
  return command.run(input)
}

/** Verbs whose `--json` is one object and no run. */
const ONE_OBJECT: ReadonlySet<string> = new Set(
  'init list validate doctor runs show cost clean stop retry-now'.split(' '),
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
