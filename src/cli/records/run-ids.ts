import { recordPlaces } from '../../journal/record-folder.ts'
import { listRuns, type RunBrief } from '../../journal/runs.ts'
import { openProject } from '../../setup/project.ts'
import { chainWords } from '../../views/runs.ts'
import { untilde } from '../completions/paths.ts'
import type { Source } from '../completions/program.ts'
import { isPresentable } from './foreign.ts'
import { withQueue } from './with-queue.ts'

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
      .map((run) => ({ value: run.id, text: `${run.status}, ${chainWords(run)}` }))
    return { candidates }
  }
}
