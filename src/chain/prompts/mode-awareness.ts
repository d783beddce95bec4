import { resolve } from 'node:path'
import { UserError } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'

/**
 * The start of the system prompt of every direct agent. The marker is never alone on a line: an agent
 * that echoes its instructions must not complete a step.
 */
export const MODE_AWARENESS_PREFIX = `# How you are run

You work unattended, started by forkhestra in print mode. Nobody reads along and nobody answers:
do not ask questions, wait for confirmation or use interactive features. Decide and act.

You start with an empty context and will not remember this session. Whatever must last goes into
files, the task database and git; read them first to see what has been done.

Before you end, commit your code changes with a message that says what changed and why.

How to end:
- The whole assignment is done: write the word ORCHESTRA_COMPLETE on a line of its own, with nothing else on it.
- Your part is done and more remains: end without that word. You will be started again.
- You cannot continue without a person, and nothing else is left to do: write \`ORCHESTRA_BLOCKED: <reason>\` on
  a line of its own, with what you need in place of <reason>. You will not be started again until somebody has
  taken care of it. If only one of several tasks is blocked, mark that task as blocked and end instead.

---

`

/** For an agent that does one task for another: it has no loop, and its parent decides what to keep. */
const TASK_PREFIX = `# How you are run

You do one task for another agent, unattended, started by forkhestra in print mode. Nobody reads along
and nobody answers: do not ask questions, wait for confirmation or use interactive features. Decide and
act.

You start with an empty context and know only your prompt. You are started once for this task. Your last
message is your result and goes to the agent that gave you the task: say there what was done, and where it is.

If you cannot continue without a person, write \`ORCHESTRA_BLOCKED: <reason>\` on a line of its own, with what
you need in place of <reason>.

---

`

/** For an agent that a person talks to. */
const CHAT_PREFIX = `# How you are run

You talk with a person, who reads your messages as you write them and may stop you at any time. Say briefly
what you do. Ask when you need a decision; do what was asked for, and no more than that.

You remember all of this conversation, even if it continues on another day.

---

`

/** How an agent is run: as a step of a chain, for one task of another agent, or in a chat with a person. */
export type Mode = 'step' | 'task' | 'chat'

const PREFIXES: Readonly<Record<Mode, string>> = {
  step: MODE_AWARENESS_PREFIX,
  task: TASK_PREFIX,
  chat: CHAT_PREFIX,
}

/** Whether the configuration alone defines the agent, so that no program of that name is needed. */
export function isDirectSpawnAgent(config: AgentConfig): boolean {
  return Boolean(config.systemPromptText) || Boolean(config.systemPrompt)
}

export function composeSystemPrompt(text: string, mode: Mode = 'step'): string {
  return PREFIXES[mode] + text
}

/** The agent's own system prompt; its file is read again at every call. */
export function loadAgentSystemPrompt(config: AgentConfig, cwd: string): string {
  if (config.systemPromptText) return config.systemPromptText
  if (!config.systemPrompt) return ''
  const file = readTextFile(resolve(cwd, config.systemPrompt), 16 * 1024 * 1024)
  if (file.kind === 'text') return file.text
  const problem = file.kind === 'missing' ? 'does not exist' : file.problem
  throw new UserError(`System prompt '${config.systemPrompt}' ${problem}.`)
}
