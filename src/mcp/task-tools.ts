import { checkName } from '../tasks/claims/owner.ts'
import { TaskDatabase } from '../tasks/database.ts'
import { answer, refuse, type Call, type ServedTool } from './served-tool.ts'
import { translateHint } from './task-hint.ts'
import type { Tool } from './tool.ts'
import { archive } from './tools/archive.ts'
import { claim } from './tools/claim.ts'
import { create } from './tools/create.ts'
import { doctor } from './tools/doctor.ts'
import { edit } from './tools/edit.ts'
import { list } from './tools/list.ts'
import { next } from './tools/next.ts'
import { view } from './tools/view.ts'

export interface TaskOptions {
  /** Called for each request, because the folder may have become a repository. */
  readonly project: () => string
  /** The owner of claims; defaults to the iteration in `env`, then to the name of the client. */
  readonly as: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

const TOOLS: readonly Tool[] = [next, edit, view, list, create, claim, archive, doctor]

/** `prefix` keeps the names apart if the server also has other tools. */
export function taskTools(options: TaskOptions, prefix = ''): ServedTool[] {
  checkName(options.as)
  return TOOLS.map((tool) => ({
    name: `${prefix}${tool.name}`,
    description: tool.description,
    input: tool.input,
    isReading: tool.isReading,
    async call(input, call) {
      try {
        const as = options.as ?? nameOfClient(options, call)
        const database = new TaskDatabase({ project: options.project(), as, env: options.env })
        return answer(tool.run(input, { database, prefix }))
      } catch (error) {
        return refuse(error, (hint) => translateHint(hint, prefix))
      }
    },
  }))
}

/** Undefined inside of a run, where the iteration is the owner. */
function nameOfClient({ env }: TaskOptions, call: Call): string | undefined {
  return env['FORKHESTRA_RUN_ID'] === undefined ? call.clientName() : undefined
}
