import { fstatSync } from 'node:fs'
import { BUNDLED_AGENTS } from '../../builtins/agents.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import type { ClaudeAgent } from '../../engines/engine.ts'
import { builtInAgent } from '../../plan/claude-agent.ts'
import { loadConfiguration, resolveCwd } from '../../setup/configuration.ts'
import { lookAround } from '../../setup/facts.ts'
import { ownFolder } from '../../setup/own-folder.ts'
import { UsageError, type Input } from '../command.ts'

/** One bundled agent: head-less, or as a conversation where a person sits at a terminal. */
export async function runBundled(name: string, input: Input): Promise<number> {
  const cwd = resolveCwd(input.text('cwd'))
  const env = makeAgentEnvironment(process.env, ownFolder())
  const { content, base } = await loadConfiguration(cwd, undefined, process.env)
  const config = Object.hasOwn(content.agents ?? {}, name) ? content.agents?.[name] : undefined
  const places = { cwd, agentBase: base }
  const agent = builtInAgent(name, BUNDLED_AGENTS[name]!, config ?? {}, places, lookAround(env))
  const prompt = readPrompt(input)
  const isAlone =
    !input.flag('print') && process.env['FORKHESTRA_RUN_ID'] === undefined && isTerminal()
  if (isAlone) return converse(agent, prompt, cwd, env)
  const { runHeadless } = await import('./run-headless.ts')
  return runHeadless(agent, prompt, cwd, env)
}

function readPrompt(input: Input): string | undefined {
  const [prompt, ...more] = [...input.positionals, ...input.rest]
  if (more.length > 0)
    throw new UsageError(`Unexpected argument '${more[0]}'.`, 'Quote the prompt.')
  const task = input.text('task')
  const about = task === undefined ? undefined : `Work on the task ${task} and on no other.`
  return [about, prompt].filter((part) => part !== undefined).join('\n\n') || undefined
}

function isTerminal(): boolean {
  return [0, 1].every((fd) => fstatSync(fd).isCharacterDevice())
}

/** The coding CLI itself has the terminal; we only say who it is to be. */
async function converse(
  agent: ClaudeAgent,
  prompt: string | undefined,
  cwd: string,
  env: Record<string, string>,
): Promise<number> {
  const { conversationArgv } = await import('./conversation.ts')
  const child = Bun.spawn(conversationArgv(agent, prompt), {
    cwd,
    env,
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  return child.exited
}
