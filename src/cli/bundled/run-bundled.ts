import { isatty } from 'node:tty'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import type { ClaudeAgent } from '../../engines/engine.ts'
import { taskPrompt } from '../../plan/bundled-args.ts'
import type { Facts } from '../../plan/facts.ts'
import { makePlan } from '../../plan/make-plan.ts'
import { resolveAgent } from '../../plan/resolve-agent.ts'
import type { FoundTask } from '../../plan/tasks.ts'
import { checkTasks } from '../../plan/task-verdict.ts'
import { readPromptText } from '../../prompt/prompt-file.ts'
import { chooseSystemPrompt } from '../../prompt/system-prompt.ts'
import { loadConfiguration } from '../../setup/configuration.ts'
import { resolveCwd } from '../../setup/project.ts'
import { lookAround } from '../../setup/facts.ts'
import { ownFolder } from '../../setup/own-folder.ts'
import { makeTaskPort } from '../../setup/task-port.ts'
import type { Input } from '../command.ts'
import { makeIdentity } from '../identity.ts'
import { projectOf } from '../project.ts'

/** One bundled agent: head-less, or as a conversation where a person sits at a terminal. */
export async function runBundled(name: string, input: Input): Promise<number> {
  const isInRun = process.env['FORKHESTRA_RUN_ID'] !== undefined
  // As an agent of a run it works where the run has put it.
  const cwd = isInRun ? resolveCwd(input.text('cwd')) : projectOf(input).folder
  const env = makeAgentEnvironment(process.env, ownFolder())
  const facts = withoutProgram(name, lookAround(env))
  const { content, base } = await loadConfiguration(cwd, undefined, process.env)
  // The one that was called is meant, and no file of its name.
  const own = { isBuiltInChain: true }
  const known = { cwd, agents: content.agents ?? {}, base, agentBase: base, ...own }
  const task = input.text('task')
  // An unknown task is told before anything is spent.
  const tasks = makeTaskPort(cwd, '', env)
  if (task !== undefined) tasks.find(task)
  const prompt = readPrompt(input, task)
  if (!input.flag('print') && !isInRun && isatty(0) && isatty(1)) {
    // In a conversation the person is asked, also root.
    const agent = resolveAgent(name, known, { ...facts, mustAsk: false })
    if (agent.engine === 'claude') return converse(agent, prompt, cwd, env)
  }
  const { run } = makeIdentity()
  const chain = { steps: [{ agent: name }] }
  const request = { run, chain, ...known, variables: new Map<string, string>(), args: [] }
  const { plan, warnings } = makePlan({ ...request, cliPrompt: { prompt } }, facts)
  checkTasks(plan, makeTaskPort(cwd, run, env))
  for (const warning of warnings) console.error(`${name}: ${warning}`)
  const { runHeadless } = await import('./run-headless.ts')
  const code = await runHeadless(plan, env)
  return code === 0 && task !== undefined ? checkDone(tasks.find(task)) : code
}

/** Whatever PATH has under its name: we are the one that was called. */
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

function checkDone({ id, lacks }: FoundTask): number {
  if (lacks === undefined) return 0
  console.error(`${lacks}. See: forge-tasks view ${id}`)
  return 1
}

/** The coding CLI itself has the terminal; we only say who it is to be. */
async function converse(
  agent: ClaudeAgent,
  prompt: string | undefined,
  cwd: string,
  env: Record<string, string>,
): Promise<number> {
  const { conversationArgv } = await import('../../engines/claude.ts')
  const { runInside } = await import('../run-inside.ts')
  const systemPrompt = chooseSystemPrompt(agent.systemPrompt, readPromptText)
  process.chdir(cwd)
  return runInside(conversationArgv(agent, systemPrompt, prompt), env)
}
