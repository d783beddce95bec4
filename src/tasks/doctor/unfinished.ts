import { join } from 'node:path'
import { listUnfinished } from '../store/moves.ts'
import type { Ailment } from './finding.ts'

const problem = 'is left over from a write that never ended'

/** What a killed writer left behind; the task itself is as it was before. */
export const unfinished: Ailment = {
  find: ({ tasks }) => listUnfinished(tasks).map((file) => ({ file, problem })),

  mend: ({ tasks }, _scan, { draft }) =>
    listUnfinished(tasks).map((file) => {
      draft.remove(join(tasks, file))
      return { file, problem, mended: 'deleted' }
    }),
}
