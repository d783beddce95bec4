import { didYouMean } from '../base/nearest.ts'
import { UsageError } from './command.ts'
import { runCommand } from './commands/run.ts'
import { guessVerb } from './first-guesses.ts'
import { columns, renderHelp } from './help.ts'
import { VERBS } from './verbs.ts'

/** The help of the whole program. */
export function renderMainHelp(): string {
  const verbs = Object.entries(VERBS).map(([name, { summary }]) => [name, summary] as const)
  return `${renderHelp('', runCommand)}\n\nVerbs:\n${columns(verbs).join('\n')}`
}

/** The verb `help`: of the program, of one verb, or of a command of forge-tasks. */
export async function printHelp([verb, ...more]: readonly string[]): Promise<number> {
  if (verb === undefined) {
    console.log(renderMainHelp())
    return 0
  }
  if (verb === 'tasks') {
    const { tasksMain } = await import('./tasks/main.ts')
    return tasksMain(['help', ...more])
  }
  const command = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined
  if (command === undefined) {
    const guess = guessVerb(verb)
    throw new UsageError(
      `Unknown command '${verb}'${didYouMean(verb, Object.keys(VERBS)) || '.'}`,
      guess === undefined ? 'All commands: forkhestra help' : `It is called: ${guess}`,
    )
  }
  console.log(renderHelp(verb, command))
  return 0
}
