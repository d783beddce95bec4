import { relative } from 'node:path'
import { shellWord } from '../../base/shell-quote.ts'
import { idOfName } from '../archive.ts'
import { hasTask } from '../find.ts'
import { runGit } from '../store/git.ts'
import { readState } from '../store/state.ts'
import type { Ailment } from './finding.ts'

/** Task files that git tracks and that are gone, although nobody deleted the tasks with forge-tasks. */
export const lost: Ailment = {
  find: (places) => {
    const { root, tasks } = places
    const listed = runGit(root, ['ls-files', '-z', '--deleted', '--', relative(root, tasks)]) ?? ''
    const deleted = new Set(readState(places).deleted)
    return listed.split('\0').flatMap((path) => {
      const file = relative(relative(root, tasks), path)
      const id = idOfName(file.replace(/^archive\//, ''))
      if (id === undefined || deleted.has(id) || hasTask(places, id)) return []
      const problem = `is gone, though git tracks it; run: git restore -- ${shellWord(path)}`
      return [{ file, problem }]
    })
  },

  mend: () => [],
}
