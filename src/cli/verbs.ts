import type { Command } from './command.ts'
import { cancelCommand } from './commands/cancel.ts'
import { chatCommand } from './commands/chat.ts'
import { checkCommand } from './commands/check.ts'
import { cleanCommand } from './commands/clean.ts'
import { completionsCommand } from './commands/completions.ts'
import { costCommand } from './commands/cost.ts'
import { doctorCommand } from './commands/doctor.ts'
import { helpCommand } from './commands/help.ts'
import { initCommand } from './commands/init.ts'
import { fakeModelCommand } from './commands/fake-model.ts'
import { inboxCommand } from './commands/inbox.ts'
import { listCommand } from './commands/list.ts'
import { logsCommand } from './commands/logs.ts'
import { mcpCommand } from './commands/mcp.ts'
import { promptCommand } from './commands/prompt.ts'
import { pushCommand } from './commands/push.ts'
import { queueCommand } from './commands/queue.ts'
import { receiveCommand } from './commands/receive.ts'
import { resumeCommand } from './commands/resume.ts'
import { retryNowCommand } from './commands/retry-now.ts'
import { runQueueCommand } from './commands/run-queue.ts'
import { runCommand } from './commands/run.ts'
import { runsCommand } from './commands/runs.ts'
import { sendCommand } from './commands/send.ts'
import { showCommand } from './commands/show.ts'
import { statusCommand } from './commands/status.ts'
import { stopCommand } from './commands/stop.ts'
import { tasksCommand } from './commands/tasks.ts'
import { validateCommand } from './commands/validate.ts'
import { versionCommand } from './commands/version.ts'

export const VERBS: Readonly<Record<string, Command>> = {
  run: runCommand,
  chat: chatCommand,
  init: initCommand,
  list: listCommand,
  validate: validateCommand,
  doctor: doctorCommand,
  prompt: promptCommand,
  status: statusCommand,
  runs: runsCommand,
  show: showCommand,
  logs: logsCommand,
  cost: costCommand,
  stop: stopCommand,
  resume: resumeCommand,
  'retry-now': retryNowCommand,
  clean: cleanCommand,
  push: pushCommand,
  'run-queue': runQueueCommand,
  queue: queueCommand,
  check: checkCommand,
  receive: receiveCommand,
  inbox: inboxCommand,
  send: sendCommand,
  cancel: cancelCommand,
  mcp: mcpCommand,
  tasks: tasksCommand,
  'fake-model': fakeModelCommand,
  completions: completionsCommand,
  help: helpCommand,
  version: versionCommand,
}

/** Words that will be verbs: an agent of such a name is called with `run` already. */
export const RESERVED_VERBS: ReadonlySet<string> = new Set(
  'ui watch worker workers worktrees store upgrade uninstall'.split(' '),
)
