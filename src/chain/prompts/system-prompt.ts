import { resolve } from 'node:path'
import { isBlank } from '../parse/prompt/parse-command.ts'
import { UserError } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'
import type { DirectAgent } from '../../engines/engine.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { ReadPrompt } from './choose.ts'
import { PROMPT_LIMIT_BYTES, PromptFileMissing } from './prompt-file.ts'

/**
 * How every direct agent's system prompt begins. The marker is never alone on a line, so that an agent that
 * echoes its instructions does not complete the step.
 */
export const MODE_AWARENESS_PREFIX = `# How you are run

forkhestra has started you in print mode, and you work unattended. Nobody answers: do not ask questions,
wait for confirmation or use interactive features. Decide and act.

You start with an empty context and will not remember this session. Keep anything that must last in
files, the task database and git. Read them first to see what has been done.

Before you end, commit your code changes with a message that says what changed and why.

How to end:
- The whole assignment is done: write the word ORCHESTRA_COMPLETE on its own line, with nothing else on it.
- Your part is done and more remains: end without that word. You will be started again.
- You cannot continue without a person, and nothing else is left to do: write \`ORCHESTRA_BLOCKED: <reason>\`
  on its own line, with what you need in place of <reason>. You will not be started again until someone has
  dealt with it. If only one of several tasks is blocked, mark that task as blocked and end instead.

---

`

/** How an agent is run: as a step of a chain, for one task of another agent, or in a chat with a person. */
export type Mode = 'step' | 'task' | 'chat'

const PREFIXES: Readonly<Record<Mode, string>> = {
  step: MODE_AWARENESS_PREFIX,

  // Mentions no loop and no commits: the agent that queued the task decides what to keep.
  task: `# How you are run

forkhestra has started you in print mode to do one task for another agent. You work unattended and nobody
answers: do not ask questions, wait for confirmation or use interactive features. Decide and act.

You start with an empty context and know only your prompt. You are started once for this task. Your last
message is your result and goes to the agent that gave you the task: say what you did, and where it is.

If you cannot continue without a person, write \`ORCHESTRA_BLOCKED: <reason>\` on its own line, with what you
need in place of <reason>.

---

`,

  chat: `# How you are run

You talk with a person, who reads your messages as you write them and may stop you at any time. Be brief
about what you are doing. Ask when you need a decision. Do what was asked for, and no more.

You remember all of this conversation, even if it continues on another day.

---

`,
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
  const file = readTextFile(resolve(cwd, config.systemPrompt), PROMPT_LIMIT_BYTES)
  if (file.kind === 'text') return file.text
  const problem = file.kind === 'missing' ? 'does not exist' : file.problem
  throw new UserError(`System prompt '${config.systemPrompt}' ${problem}.`)
}

/** An agent's system prompt, after the text that says how the agent is run. */
export function readSystemPrompt(
  { name, systemPrompt }: DirectAgent,
  readPrompt: ReadPrompt,
  mode: Mode = 'step',
): string {
  const text = chooseSystemPrompt(systemPrompt, readPrompt)
  if (text !== '') return composeSystemPrompt(text, mode)
  throw new UserError(
    `The system prompt of '${name}' is empty.`,
    'Write instructions for the agent, or remove it.',
  )
}

/** The first one that exists and is not blank, or an empty text. */
export function chooseSystemPrompt(
  prompts: DirectAgent['systemPrompt'],
  readPrompt: ReadPrompt,
): string {
  for (const prompt of prompts) {
    try {
      const text = 'text' in prompt ? prompt.text : readPrompt(prompt.file, '/')
      if (!isBlank(text)) return text
    } catch (error) {
      const isOptional = 'file' in prompt && prompt.isOptional === true
      if (!isOptional || !(error instanceof PromptFileMissing)) throw error
    }
  }
  return ''
}
