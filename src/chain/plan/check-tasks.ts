import { UserError, type Problem } from '../../base/errors.ts'
import type { Phases } from '../parse/prompt/phases.ts'
import { readPhases, taskPlace } from '../prompts/read-phases.ts'

/**
 * Problems with the agents of the tasks that a prompt queues, nested tasks included; each agent is
 * reported once. `resolve` throws a `UserError` for an agent that does not exist.
 */
export function findTaskProblems(
  phases: Phases,
  where: string,
  resolve: (agent: string) => void,
): Problem[] {
  const seen = new Set<string>()
  const look = (agent: string) => {
    if (seen.has(agent)) return []
    seen.add(agent)
    return problemsOf(() => resolve(agent))
  }
  return findAll(phases, where, look)
}

function findAll(
  { setup, teardown }: Phases,
  where: string,
  look: (agent: string) => readonly Problem[],
): Problem[] {
  return [...setup, ...teardown].flatMap((command) => {
    if (command.kind !== 'push') return []
    const place = taskPlace(command, where)
    const own = command.agent === undefined ? [] : look(command.agent)
    return [
      ...own.map(({ message, hint }) => ({ message: `${place}  ${message}`, hint })),
      ...findAll(readPhases([command.prompt], place), place, look),
    ]
  })
}

function problemsOf(resolve: () => void): readonly Problem[] {
  try {
    resolve()
    return []
  } catch (error) {
    if (error instanceof UserError) return error.problems
    throw error
  }
}
