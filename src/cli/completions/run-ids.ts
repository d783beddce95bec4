import { recordPlaces } from '../../records/journal/record-folder.ts'
import { listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { describeChain } from '../../views/runs.ts'
import { typedProject } from './paths.ts'
import type { Source } from './program.ts'
import { isPresentable } from '../../host/records/describe-run.ts'
import { withQueue } from '../../host/records/with-queue.ts'

/** Recorded runs, filtered by status or by their folder. */
export function runIds(
  wanted?: readonly RunBrief['status'][],
  isWanted: (folder: string) => boolean = () => true,
): Source {
  return ({ options, positionals }) => {
    if (positionals.length > 0) return undefined
    const candidates = listRuns(recordPlaces(typedProject(options), process.env))
      .filter(({ status, folder }) => (wanted?.includes(status) ?? true) && isWanted(folder))
      .filter(isPresentable)
      .map(withQueue)
      .map((run) => ({ value: run.id, text: `${run.status}, ${describeChain(run)}` }))
    return { candidates }
  }
}
