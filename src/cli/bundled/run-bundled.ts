import { isTerminal } from '../../base/terminal/is-terminal.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import type { ClaudeAgent } from '../../engines/engine.ts'
import { taskPrompt } from '../../chain/plan/agent-role.ts'
import type { Facts } from '../../chain/plan/facts.ts'
import { makePlan } from '../../chain/plan/make-plan.ts'
import { resolveAgent } from '../../chain/plan/resolve-agent.ts'
import type { FoundTask } from '../../chain/plan/tasks.ts'
import { checkTasks } from '../../chain/plan/task-verdict.ts'
import { readPromptText } from '../../chain/prompts/prompt-file.ts'
import { chooseSystemPrompt } from '../../chain/prompts/system-prompt.ts'
import { loadConfiguration } from '../../host/configuration.ts'
import { resolveCwd } from '../../host/project.ts'
import { readFacts } from '../../host/facts.ts'
import { ownFolder } from '../../host/own-folder.ts'
import { makeTaskPort } from '../../host/task-port.ts'
import type { Input } from '../command.ts'
import { makeIdentity } from '../../host/identity.ts'
import { projectOf } from '../front-end.ts'

/** Runs a bundled agent: headless, or as a conversation on a terminal. */
export async function runBundled(name: string, input: Input): Promise<number> {
  const isInRun = process.env['FORKHESTRA_RUN_ID'] !== undefined
  // Inside a run, the current folder may be a worktree.
  const cwd = isInRun ? resolveCwd(input.text('cwd')) : projectOf(input).folder
  const env = makeAgentEnvironment(process.env, ownFolder())
  const facts = withoutProgram(name, readFacts(env))
  const { content, base } = await loadConfiguration(cwd, undefined, process.env)
  // Use the built-in agent even if a file has the same name.
  const known = { cwd, agents: content.agents ?? {}, base, agentBase: base, isBuiltInChain: true }
  const task = input.text('task')
  // An unknown task must fail before the agent starts.
  const tasks = makeTaskPort(cwd, '', env)
  if (task !== undefined) await tasks.find(task)
  const prompt = readPrompt(input, task)
  if (!input.flag('print') && !isInRun && isTerminal(0) && isTerminal(1)) {
    // In a conversation the user is asked for permissions, even as root.
    const agent = resolveAgent(name, known, { ...facts, mustAsk: false })
    if (agent.engine === 'claude') return converse(agent, prompt, cwd, env)
  }
  const { run } = makeIdentity()
  const chain = { steps: [{ agent: name }] }
  const request = { run, chain, ...known, variables: new Map<string, string>(), args: [] }
  const { plan, warnings } = makePlan({ ...request, cliPrompt: { prompt } }, facts)
  await checkTasks(plan, makeTaskPort(cwd, run, env))
  for (const warning of warnings) console.error(`${name}: ${warning}`)
  const { runHeadless } = await import('./run-headless.ts')
  const code = await runHeadless(plan, env)
  return code === 0 && task !== undefined ? checkDone(await tasks.find(task)) : code
}

/** Hides the program of this name on PATH: it would start itself. */
function withoutProgram(name: string, facts: Facts): Facts {
  return {
    ...facts,
    programOnPath: (asked) => (asked === name ? { kind: 'missing' } : facts.programOnPath(asked)),
  }
}

function readPrompt(input: Input, task: string | undefined): string | undefined {
  const words = [...input.positionals, ...input.rest]
  return taskPrompt(task, words.length === 0 ? undefined : words.join(' '))
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
