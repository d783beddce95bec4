import { UserError } from '../../base/errors.ts'
import { nearest } from '../../base/nearest.ts'
import { parseInput, wantsJson } from '../command.ts'
import { columns, renderHelp } from '../help.ts'
import { renderError } from '../render-error.ts'
import { CannotPrint, print } from './print.ts'
import { ALIASES, VERBS } from './verbs.ts'

/** The front door of forge-tasks. */
export async function tasksMain(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args)
  } catch (error) {
    if (error instanceof UserError) return refuse(error, args)
    console.error('forge-tasks: This is a mistake in forge-tasks itself. Please report it:')
    console.error(error)
    return 1
  }
}

function refuse(error: UserError, args: readonly string[]): number {
  const { exitCode, problems } = error
  console.error(renderError('forge-tasks', error))
  if (wantsJson(args) && !(error instanceof CannotPrint)) {
    try {
      print(JSON.stringify({ ok: false, problems }))
    } catch (lost) {
      if (!(lost instanceof CannotPrint)) throw lost
      console.error(renderError('forge-tasks', lost))
    }
  }
  return exitCode
}

async function dispatch([first, ...rest]: readonly string[]): Promise<number> {
  if (first === 'help' && rest[0] !== undefined) return dispatch([rest[0], '--help'])
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') {
    print(renderMainHelp())
    return first === undefined ? 2 : 0
  }
  const name = Object.hasOwn(ALIASES, first) ? ALIASES[first]! : first
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
  if (verb === undefined) {
    const close = nearest(first, Object.keys(VERBS))
    throw new UserError(
      `Unknown command '${first}'${close === undefined ? '.' : `, did you mean '${close}'?`}`,
      'See: forge-tasks --help',
    )
  }
  const command = await verb.load()
  const input = parseInput(rest, command)
  if (input.flag('help')) {
    print(renderHelp(name, command))
    return 0
  }
  return command.run(input)
}

function renderMainHelp(): string {
  const verbs = Object.entries(VERBS).map(([name, { summary }]) => [name, summary] as const)
  return [
    'The task database that agents and people share: Markdown files in forge/tasks/.',
    '',
    'Examples:',
    '  forge-tasks create "Add login" --ac "A wrong password is refused" -p high',
    '  forge-tasks next --claim',
    '  forge-tasks edit TASK-001 --check-ac 1 --status done',
    '  forge-tasks list --ready --plain',
    '',
    'Commands:',
    ...columns(verbs),
    '',
    'Each has --help; those that show or change tasks have --plain, --json and --cwd.',
  ].join('\n')
}
