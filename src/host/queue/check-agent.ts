import { resolveAgent } from '../../chain/plan/resolve-agent.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { readFacts } from '../facts.ts'
import { ownFolder } from '../own-folder.ts'
import type { FrontEnd } from '../front-end.ts'
import { pathFromProject } from '../project.ts'
import { findCaller, type QueueRequest } from './caller.ts'
import { configurationOf, knownIn } from './configuration.ts'
import { planIn } from './store.ts'

/** Throws before anything is queued if the agent does not exist. */
export async function checkAgent(request: QueueRequest, name: string): Promise<void> {
  const { frontEnd } = request
  const caller = findCaller(request)
  const { cwd = frontEnd.project.folder, configuration } =
    caller === undefined ? {} : planIn(caller.record)
  const known = knownIn(await configurationOf({ cwd, configuration }, frontEnd.env), cwd)
  resolveAgent(name, known, readFacts(makeAgentEnvironment(frontEnd.env, ownFolder())))
}

/** Makes a path relative to the project, where the task runs. */
export function agentPath(agent: string, { project, env }: FrontEnd): string {
  if (!agent.includes('/') || env['FORKHESTRA_RUN_ID']) return agent
  const path = pathFromProject(agent, project)
  return path.includes('/') ? path : `./${path}`
}
