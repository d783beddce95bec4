import { checkName, findOwner, type Owner } from '../tasks/claims/owner.ts'
import type { Places } from '../tasks/store/places.ts'
import { callTool } from './call.ts'
import type { Call, ServedTool } from './served-tool.ts'
import { TOOLS } from './tools.ts'

/** For whom and where the tools of the tasks act. */
export interface TaskOptions {
  /** Asked anew for each call: the folder may have become a repository in the meantime. */
  readonly places: () => Places
  /** On whose behalf; else the iteration of the environment, else the client by its name. */
  readonly as: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The tools of the tasks, with something before their names where others are beside them. */
export function taskTools(options: TaskOptions, prefix = ''): ServedTool[] {
  checkName(options.as)
  return TOOLS.map((tool) => ({
    name: `${prefix}${tool.name}`,
    description: tool.description,
    input: tool.input,
    isReading: tool.isReading,
    async call(input, call) {
      const owner = whoCalls(options, call)
      const context = { places: options.places(), prefix, owner, now: new Date() }
      return callTool(tool, input, context)
    },
  }))
}

function whoCalls({ as, env }: TaskOptions, call: Call): Owner {
  const isInRun = env['FORKHESTRA_RUN_ID'] !== undefined
  return findOwner(env, as ?? (isInRun ? undefined : call.clientName()))
}
