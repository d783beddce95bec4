import { errorWithHint, UserError } from '../../base/errors.ts'
import { stepsOf } from '../../chain/plan/plan.ts'
import { resolveAgent } from '../../chain/plan/resolve-agent.ts'
import { readFacts } from '../facts.ts'
import { agentEnvironment } from '../own-folder.ts'
import { typedAgent } from '../typed-agent.ts'
import { findCaller, type QueueRequest } from './caller.ts'
import { configurationOf, knownIn } from './configuration.ts'
import { planIn } from '../records/plan-in.ts'
import { makePersonsAgent } from './sub-agent.ts'

/** Throws before anything is queued if the agent cannot start. */
export async function checkAgent(request: QueueRequest, name: string): Promise<void> {
  const { known, facts } = await surroundings(request)
  resolveAgent(name, known, facts)
}

/** Also translates the path of a program that the user typed: in the run, paths are relative to its folder. */
export async function checkTypedAgent(request: QueueRequest, name: string): Promise<string> {
  const { known, facts } = await surroundings(request)
  const { env, project } = request.frontEnd
  const here = env['FORKHESTRA_RUN_ID'] ? known.cwd : project.here
  const agent = typedAgent(name, { folder: known.cwd, here }, known.agents)
  resolveAgent(agent, { ...known, here }, facts)
  return agent
}

async function surroundings(request: QueueRequest) {
  const { env, project } = request.frontEnd
  const caller = findCaller(request)
  const { cwd = project.folder, configuration } = caller === undefined ? {} : planIn(caller.record)
  const known = knownIn(await configurationOf({ cwd, configuration }, env), cwd)
  return { known, facts: readFacts(agentEnvironment(env)) }
}

/**
 * Warns that a task without an agent would fail now; `claude` may still be installed before the task starts.
 */
export function warnWithoutAgent(request: QueueRequest): void {
  const { env, notice, project } = request.frontEnd
  const caller = findCaller(request)
  const { cwd = project.folder, root } = caller === undefined ? {} : planIn(caller.record)
  if (caller?.isInside === true || (root !== undefined && stepsOf(root).length > 0)) return
  try {
    makePersonsAgent('', cwd, readFacts(agentEnvironment(env)))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    notice(`Warning: the task cannot start yet: ${errorWithHint(error)}`)
  }
}
