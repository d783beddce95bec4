import { taskPrompt } from '../chain/plan/agent-role.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { makePlan } from '../chain/plan/make-plan.ts'
import { resolveAgent } from '../chain/plan/resolve-agent.ts'
import { checkTasks } from '../chain/plan/task-verdict.ts'
import { loadConfiguration } from './configuration.ts'
import { readFacts } from './facts.ts'
import type { FrontEnd } from './front-end.ts'
import { makeIdentity } from './identity.ts'
import { agentEnvironment } from './own-folder.ts'
import { makeTaskPort } from './task-port.ts'

/** What a bundled agent is asked to do. */
interface Assignment {
  readonly task?: string | undefined
  readonly words?: string | undefined
}

/** Prepares a bundled agent, for a conversation or as the plan of a run. Refuses an unknown task. */
export async function openBundled(
  name: string,
  cwd: string,
  { task, words }: Assignment,
  ownEnv: FrontEnd['env'],
) {
  const env = agentEnvironment(ownEnv)
  const facts = withoutProgram(name, readFacts(env))
  const { content, base } = await loadConfiguration(cwd, undefined, ownEnv)
  // Use the built-in agent even if a file has the same name.
  const known = { cwd, agents: content.agents ?? {}, base, agentBase: base, isBuiltInChain: true }
  const tasks = makeTaskPort(cwd, '', env)
  const findTask = async () => (task === undefined ? undefined : tasks.find(task))
  await findTask()
  const prompt = taskPrompt(task, words)
  return {
    env,
    prompt,
    /** The task as it is now. */
    findTask,
    /** In a conversation the agent asks the user for permission, even as root. */
    agent: () => resolveAgent(name, known, { ...facts, mustAsk: false }),
    plan: async () => {
      const { run } = makeIdentity()
      const chain = { steps: [{ agent: name }] }
      const request = { run, chain, ...known, variables: new Map<string, string>(), args: [] }
      const made = makePlan({ ...request, cliPrompt: { prompt } }, facts)
      await checkTasks(made.plan, makeTaskPort(cwd, run, env))
      return made
    },
  }
}

/** Hides the program of this name on PATH, which would start itself. */
function withoutProgram(name: string, facts: Facts): Facts {
  return {
    ...facts,
    programOnPath: (asked) => (asked === name ? { kind: 'missing' } : facts.programOnPath(asked)),
  }
}
