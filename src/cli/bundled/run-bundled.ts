import { isTerminal } from '../../base/linux/is-terminal.ts'
import type { ClaudeAgent } from '../../engines/engine.ts'
import type { FoundTask } from '../../chain/plan/tasks.ts'
import { readPromptText } from '../../chain/prompts/prompt-file.ts'
import { chooseSystemPrompt } from '../../chain/prompts/system-prompt.ts'
import { openBundled } from '../../host/bundled-agent.ts'
import { resolveCwd } from '../../host/project.ts'
import type { Input } from '../command.ts'
import { projectOf } from '../front-end.ts'

/** Runs a bundled agent: headless, or as a conversation on a terminal. */
export async function runBundled(name: string, input: Input): Promise<number> {
  const isInRun = process.env['FORKHESTRA_RUN_ID'] !== undefined
  // Inside a run, the current folder may be a git worktree.
  const cwd = isInRun ? resolveCwd(input.text('cwd')) : projectOf(input).folder
  const typed = [...input.positionals, ...input.rest]
  const words = typed.length === 0 ? undefined : typed.join(' ')
  const bundled = await openBundled(name, cwd, { task: input.text('task'), words }, process.env)
  const { env, prompt } = bundled
  if (!input.flag('print') && !isInRun && isTerminal(0) && isTerminal(1)) {
    const agent = bundled.agent()
    if (agent.engine === 'claude') return converse(agent, prompt, cwd, env)
  }
  const { plan, warnings } = await bundled.plan()
  for (const warning of warnings) console.error(`${name}: ${warning}`)
  const { runHeadless } = await import('./run-headless.ts')
  const code = await runHeadless(plan, env)
  const task = code === 0 ? await bundled.findTask() : undefined
  return task === undefined ? code : checkDone(task)
}

function checkDone({ id, missing }: FoundTask): number {
  if (missing === undefined) return 0
  console.error(`${missing}. See: forge-tasks view ${id}`)
  return 1
}

/** Hands the terminal over to the coding CLI. */
async function converse(
  agent: ClaudeAgent,
  prompt: string | undefined,
  cwd: string,
  env: Record<string, string>,
): Promise<number> {
  const { conversationArgv } = await import('../../engines/claude/engine.ts')
  const { runInside } = await import('../run-inside.ts')
  const systemPrompt = chooseSystemPrompt(agent.systemPrompt, readPromptText)
  process.chdir(cwd)
  return runInside(conversationArgv(agent, systemPrompt, prompt), env)
}
