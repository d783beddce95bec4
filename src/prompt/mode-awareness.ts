import { resolve } from 'node:path'
import { UserError } from '../base/errors.ts'
import { readTextFile } from '../base/files.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'

/**
 * Stands before every direct agent's system prompt. The marker never stands alone on a line of it:
 * an agent that echoes its instructions must not complete a step.
 */
export const MODE_AWARENESS_PREFIX = `# How you are run

You work unattended, started by forkhestra in print mode. Nobody reads along and nobody answers:
do not ask, do not wait for a confirmation, do not use interactive features. Decide and act.

You begin with an empty context and will not remember this session. Whatever must last goes into
files, the task database and git; read them first to see what has been done.

Before you end, commit your code changes with a message that says what changed and why.

How to end:
- The whole assignment is done: write the word ORCHESTRA_COMPLETE on a line of its own, nothing else on it.
- Your part is done and more remains: end without that word. You will be started again.
- You cannot go on without a person, and nothing else is left to do: write \`ORCHESTRA_BLOCKED: <reason>\` on a
  line of its own, with what you need in place of <reason>. You will not be started again until somebody has
  seen to it. If only one of several tasks is blocked, mark that task as blocked and end instead.

---

`

/** The same for an agent that does one task for another: it has no loop, and its parent decides what is kept. */
const TASK_PREFIX = `# How you are run

You do one task for another agent, unattended, started by forkhestra in print mode. Nobody reads along
and nobody answers: do not ask, do not wait for a confirmation, do not use interactive features. Decide
and act.

You begin with an empty context and know only your prompt. You are started once for this task. What you
say last is your result, and goes to whoever gave you the task: say there what was done, and where it is.

If you cannot go on without a person, write \`ORCHESTRA_BLOCKED: <reason>\` on a line of its own, with what
you need in place of <reason>.

---

`

/** The same for an agent to which a person talks. */
const CHAT_PREFIX = `# How you are run

You talk with a person, who reads what you say while you say it and who may stop you at any time. Say in
few words what you do. Ask where you need a decision; do what was asked for, and no more than that.

You remember all of this conversation, also if it goes on another day.

---

`

/** How an agent is run: for a step of a chain, for one task of another agent, or for a person who talks to it. */
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

/** The agent's own system prompt; its file is read anew at every call. */
export function loadAgentSystemPrompt(config: AgentConfig, cwd: string): string {
  if (config.systemPromptText) return config.systemPromptText
  if (!config.systemPrompt) return ''
  const file = readTextFile(resolve(cwd, config.systemPrompt), 16 * 1024 * 1024)
  if (file.kind === 'text') return file.text
  const problem = file.kind === 'missing' ? 'does not exist' : file.problem
  throw new UserError(`System prompt '${config.systemPrompt}' ${problem}.`)
}
