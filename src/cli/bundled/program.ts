import type { Command } from '../command.ts'
import { renderHelp } from '../help.ts'
import { makeHelpCommand, makeVersionCommand } from '../commands/general.ts'
import type { Program } from '../program.ts'

export function makeAgentProgram(name: string, args: readonly string[]): Program {
  const command = makeCommand(name)
  const program: Program = {
    name,
    summary: command.summary,
    prefix: name,
    commands: {
      [ITSELF]: command,
      // If other words follow, they are part of the prompt.
      ...(args.length === 1 && {
        help: async () => makeHelpCommand(program),
        version: makeVersionCommand(name),
      }),
    },
    fallback: ITSELF,
    needsWords: false,
    help: async () => renderHelp(command),
    guess: () => undefined,
  }
  return program
}

/** The program's only command has no name. */
const ITSELF = ''

function makeCommand(name: string): Command {
  const isWorker = name.endsWith('worker')
  const example = isWorker ? `${name} --task TASK-007` : `${name} "Add a login page"`
  return {
    summary: SUMMARIES[name.replace(/^forge-/, '')] ?? '',
    usage: [`${name} [prompt…] [options]`],
    examples: [
      [example, 'on a terminal: a conversation'],
      [`${example} --print`, 'headless: works, prints what it does, exits'],
      [`forkhestra "${name}:10"`, 'in a loop until it reports that everything is done'],
    ],
    options: {
      print: { short: 'p', help: 'headless; the default inside a run and without a terminal' },
      ...(isWorker ? { task: { value: '<id>', help: 'the task to work on' } } : {}),
      cwd: { value: '<path>', help: 'the project, if not the current folder' },
    },
    async run(input) {
      const { runBundled } = await import('./run-bundled.ts')
      return runBundled(name, input)
    },
  }
}

const SUMMARIES: Readonly<Record<string, string>> = {
  'task-manager': 'Turn requirements into tasks.',
  'task-coordinator': 'Coordinate agents until all tasks are done.',
  'task-worker': 'Work on one task until it is done.',
}
