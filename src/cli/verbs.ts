import type { Command } from './command.ts'
import { completionsCommand } from './commands/completions.ts'
import { doctorCommand } from './commands/doctor.ts'
import { initCommand } from './commands/init.ts'
import { fakeModelCommand } from './commands/fake-model.ts'
import { listCommand } from './commands/list.ts'
import { runCommand } from './commands/run.ts'
import { tasksCommand } from './commands/tasks.ts'
import { validateCommand } from './commands/validate.ts'

export const VERBS: Readonly<Record<string, Command>> = {
  run: runCommand,
  init: initCommand,
  list: listCommand,
  validate: validateCommand,
  doctor: doctorCommand,
  tasks: tasksCommand,
  'fake-model': fakeModelCommand,
  completions: completionsCommand,
}

/** Words that will be verbs; nobody should get used to agents of these names in first place. */
export const RESERVED_VERBS: ReadonlySet<string> = new Set(
  [
    'runs show logs cost clean stop resume retry-now',
    'prompt push run-queue check receive send queue inbox cancel chat mcp',
    'ui watch worker',
  ].flatMap((words) => words.split(' ')),
)
