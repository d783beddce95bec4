import type { Command } from './command.ts'
import { cleanCommand } from './commands/clean.ts'
import { completionsCommand } from './commands/completions.ts'
import { costCommand } from './commands/cost.ts'
import { doctorCommand } from './commands/doctor.ts'
import { initCommand } from './commands/init.ts'
import { fakeModelCommand } from './commands/fake-model.ts'
import { listCommand } from './commands/list.ts'
import { logsCommand } from './commands/logs.ts'
import { resumeCommand } from './commands/resume.ts'
import { retryNowCommand } from './commands/retry-now.ts'
import { runCommand } from './commands/run.ts'
import { runsCommand } from './commands/runs.ts'
import { showCommand } from './commands/show.ts'
import { stopCommand } from './commands/stop.ts'
import { tasksCommand } from './commands/tasks.ts'
import { validateCommand } from './commands/validate.ts'

export const VERBS: Readonly<Record<string, Command>> = {
  run: runCommand,
  init: initCommand,
  list: listCommand,
  validate: validateCommand,
  doctor: doctorCommand,
  runs: runsCommand,
  show: showCommand,
  logs: logsCommand,
  cost: costCommand,
  stop: stopCommand,
  resume: resumeCommand,
  'retry-now': retryNowCommand,
  clean: cleanCommand,
  tasks: tasksCommand,
  'fake-model': fakeModelCommand,
  completions: completionsCommand,
}

/** Words that will be verbs; nobody should get used to agents of these names in first place. */
export const RESERVED_VERBS: ReadonlySet<string> = new Set(
  [
    'prompt push run-queue check receive send queue inbox cancel chat mcp',
    'ui watch worker',
  ].flatMap((words) => words.split(' ')),
)
