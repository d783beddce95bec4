import { UserError } from '../../base/errors.ts'
import { VERSION } from '../../setup/version.ts'
import { columns } from '../help.ts'
import { guessTaskCommand } from './first-guesses.ts'
import { print } from './print.ts'
import { answer, runVerb } from './run-verb.ts'
import { ALIASES, VERBS } from './verbs.ts'

/** The front door of forge-tasks. */
export function tasksMain(args: readonly string[]): Promise<number> {
  return answer(args, () => dispatch(args))
}

async function dispatch([first, ...rest]: readonly string[]): Promise<number> {
  const isHelp = first === 'help' || first === '--help' || first === '-h'
  if (isHelp && rest[0] !== undefined) return dispatch([rest[0], '--help'])
  if (first === 'version') {
    print(VERSION)
    return 0
  }
  if (first === undefined || isHelp) {
    print(renderMainHelp())
    return first === undefined ? 2 : 0
  }
  const name = Object.hasOwn(ALIASES, first) ? ALIASES[first]! : first
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
  if (verb === undefined) {
    const words = rest.includes('--help') ? [first] : [first, ...rest]
    const guess = guessTaskCommand(words, Object.keys(VERBS))
    throw new UserError(
      `Unknown command '${first}'.`,
      guess === undefined ? 'See: forge-tasks --help' : `Did you mean: ${guess}`,
    )
  }
  return runVerb(name, await verb.load(), rest)
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
