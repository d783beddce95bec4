import { TaskDatabase } from '../tasks/database.ts'
import { archive, doctor } from './task-tools/archive.ts'
import { claim, next } from './task-tools/claim.ts'
import { create, edit } from './task-tools/edit.ts'
import { list, view } from './task-tools/list.ts'
import { translateHint, type TaskTool } from './task-tools/task-tool.ts'
import { textResult, errorResult, type ServedTool } from './tool.ts'

export interface TaskToolOptions {
  /** Called for each request, because the folder may have become a repository. */
  readonly project: () => string
  /** The owner of claims; defaults to the iteration in `env`, then to the name of the client. */
  readonly as: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

const TOOLS: readonly TaskTool[] = [next, edit, view, list, create, claim, archive, doctor]

/** `prefix` keeps the names apart if the server also has other tools. */
export function taskTools(options: TaskToolOptions, prefix = ''): ServedTool[] {
  TaskDatabase.checkName(options.as)
  return TOOLS.map(({ run, ...tool }) => ({
    ...tool,
    name: `${prefix}${tool.name}`,
    async call(input, call) {
      try {
        const { env, project } = options
        // Inside a run, the iteration is the owner.
        const client = env['FORKHESTRA_RUN_ID'] === undefined ? call.clientName() : undefined
        const database = new TaskDatabase({ project: project(), as: options.as ?? client, env })
        return textResult(run(input, { database, prefix }))
      } catch (error) {
        return errorResult(error, (hint) => translateHint(hint, prefix))
      }
    },
  }))
}
