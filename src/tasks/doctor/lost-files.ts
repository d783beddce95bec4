import { relative } from 'node:path'
import { shellWord } from '../../base/shell-quote.ts'
import { idOfName } from '../archive.ts'
import { hasTask } from '../find.ts'
import { runGit } from '../store/git.ts'
import { readLocalState } from '../store/state.ts'
import type { Check } from './finding.ts'

/** Task files that git tracks but that are missing, unless forge-tasks deleted them. */
export const lostFiles: Check = {
  find: (places) => {
    const { root, tasks } = places
    const listed = runGit(root, ['ls-files', '-z', '--deleted', '--', relative(root, tasks)]) ?? ''
    const deleted = new Set(readLocalState(places).deleted)
    return listed.split('\0').flatMap((path) => {
      const file = relative(relative(root, tasks), path)
      const id = idOfName(file.replace(/^archive\//, ''))
      if (id === undefined || deleted.has(id) || hasTask(places, id)) return []
      const problem = `is missing but tracked by git; run: git restore -- ${shellWord(path)}`
      return [{ file, problem }]
    })
  },

  fix: () => [],
}
