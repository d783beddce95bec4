import { basename, join, relative } from 'node:path'
import { statOf } from '../../base/files.ts'
import { shellWord } from '../../base/shell-quote.ts'
import { inArchive } from '../archive.ts'
import { idOfFileName, makeFileName } from '../file-name.ts'
import { hasTask } from '../find.ts'
import { readId } from '../id.ts'
import { BrokenConfig, tasksConfigPath, findUnknownKeys, readConfig } from '../store/config.ts'
import { askGitSync } from '../../base/tracked.ts'
import { listUnfinished } from '../store/moves.ts'
import { readLocalState } from '../store/state.ts'
import { makeCheck, type TaskCheck } from './check.ts'

/** An invalid configuration or unknown keys in it, which only a person can fix. */
export const configuration: TaskCheck = {
  find: (folders) => {
    const file = basename(tasksConfigPath(folders))
    try {
      readConfig(folders)
      return findUnknownKeys(folders).map((key) => ({
        file,
        problem: `unknown key "${key}"; known keys: prefix, name, defaults (priority, labels)`,
      }))
    } catch (error) {
      if (!(error instanceof BrokenConfig)) throw error
      return [{ file, problem: error.problem }]
    }
  },
}

/** Files whose name does not begin with the id of their task. */
export const misnamed = makeCheck((folders, { tasks, archived }) =>
  [
    ...tasks.map((task) => ({ task, folder: folders.tasks, file: task.file })),
    ...archived.tasks.map((task) => {
      return { task, folder: folders.archive, file: inArchive(folders, task.file) }
    }),
  ]
    .filter(({ task }) => idOfFileName(task.file) !== task.id)
    .map(({ task: { id, title }, folder, file }) => {
      const name = makeFileName(readId(id)!, title)
      const target = join(folder, name)
      const problem = `the file name does not begin with the id ${id}`
      const findings = [{ file, problem, mended: `renamed to "${name}"` }]
      const advice = `; "${name}" already exists: rename it, then run: forge-tasks doctor --fix`
      if (statOf(target) !== undefined) return { findings, advice }
      return { findings, fix: ({ draft }) => draft.move(join(folders.tasks, file), target) }
    }),
)

/** Temporary files of a killed writer. The task itself is unchanged. */
export const unfinished = makeCheck(({ tasks }) =>
  listUnfinished(tasks).map((file) => ({
    findings: [{ file, problem: 'is left over from an interrupted write', mended: 'deleted' }],
    fix: ({ draft }) => draft.remove(join(tasks, file)),
  })),
)

/** Task files that git tracks but that are missing, unless forge-tasks deleted them. */
export const lostFiles: TaskCheck = {
  find: (folders) => {
    const { root, tasks } = folders
    const listed =
      askGitSync(root, ['ls-files', '-z', '--deleted', '--', relative(root, tasks)], process.env) ??
      ''
    const deleted = new Set(readLocalState(folders).deleted)
    return listed.split('\0').flatMap((path) => {
      const file = relative(relative(root, tasks), path)
      const id = idOfFileName(file.replace(/^archive\//, ''))
      if (id === undefined || deleted.has(id) || hasTask(folders, id)) return []
      const problem = `is missing but tracked by git; run: git restore -- ${shellWord(path)}`
      return [{ file, problem }]
    })
  },
}
