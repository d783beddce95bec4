import { normalize } from 'node:path'
import type { Agents } from '../chain/plan/resolve-agent.ts'
import { pathFromProject, type Project } from './project.ts'

/**
 * The name of an agent from the command line as the configuration has it: the path of a program is
 * relative to the project, and `./bin/worker` also means an entry `bin/worker`.
 */
export function typedAgent(
  name: string,
  project: Pick<Project, 'folder' | 'here'>,
  agents: Agents,
): string {
  if (!name.includes('/')) return name
  const relative = pathFromProject(name, project)
  const path = relative.includes('/') ? relative : `./${relative}`
  const isSame = (each: string) => each.includes('/') && normalize(each) === normalize(path)
  return Object.hasOwn(agents, path) ? path : (Object.keys(agents).find(isSame) ?? path)
}
