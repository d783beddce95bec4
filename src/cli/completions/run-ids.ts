import { recordPlaces } from '../../records/journal/record-folder.ts'
import { listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { openProject } from '../../host/project.ts'
import { describeChain } from '../../views/runs.ts'
import { untilde } from './paths.ts'
import type { Source } from './program.ts'
import { isPresentable } from '../../host/records/foreign.ts'
import { withQueue } from '../../host/records/with-queue.ts'

/** The recorded runs, for completion; only those of a status, or with a record, that is wanted. */
export function runIds(
  wanted?: readonly RunBrief['status'][],
  isWanted: (folder: string) => boolean = () => true,
): Source {
  return ({ options, positionals }) => {
    if (positionals.length > 0) return undefined
    const project = openProject(untilde(options.get('cwd')?.at(-1)), process.env)
    const candidates = listRuns(recordPlaces(project, process.env))
      .filter(({ status, folder }) => (wanted?.includes(status) ?? true) && isWanted(folder))
      .filter(isPresentable)
      .map(withQueue)
      .map((run) => ({ value: run.id, text: `${run.status}, ${describeChain(run)}` }))
    return { candidates }
  }
}
