import { join } from 'node:path'
import { listUnfinished } from '../store/moves.ts'
import type { Check } from './finding.ts'

const problem = 'is left over from an interrupted write'

/** Temporary files of a killed writer. The task itself is unchanged. */
export const unfinished: Check = {
  find: ({ tasks }) => listUnfinished(tasks).map((file) => ({ file, problem })),

  fix: ({ tasks }, _scan, { draft }) =>
    listUnfinished(tasks).map((file) => {
      draft.remove(join(tasks, file))
      return { file, problem, mended: 'deleted' }
    }),
}
