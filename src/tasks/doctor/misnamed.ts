import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import { inArchive } from '../archive.ts'
import { idOfFileName, makeFileName } from '../file-name.ts'
import { readId, renderId } from '../id.ts'
import type { Places } from '../store/places.ts'
import type { Task } from '../task.ts'
import type { Check, Database } from './finding.ts'

/** Files whose name does not begin with the id of their task. */
export const misnamed: Check = {
  find: (places, database) =>
    misnamedOf(places, database).map(({ file, problem }) => ({ file, problem })),

  fix: (places, database, { draft }) =>
    misnamedOf(places, database).flatMap(({ file, problem, folder, name }) => {
      if (exists(folder, name)) return []
      draft.move(join(places.tasks, file), join(folder, name))
      return [{ file, problem, mended: `renamed to "${name}"` }]
    }),
}

interface Misnamed {
  /** Relative to the folder of the tasks. */
  readonly file: string
  readonly problem: string
  readonly folder: string
  readonly name: string
}

function misnamedOf(places: Places, { tasks, archived }: Database): Misnamed[] {
  const { tasks: open, archive } = places
  return [
    ...tasks.filter(isMisnamed).map((task) => describe(task, open, task.file)),
    ...archived.tasks
      .filter(isMisnamed)
      .map((task) => describe(task, archive, inArchive(places, task.file))),
  ]
}

function isMisnamed({ file, id }: Task): boolean {
  const named = idOfFileName(file)
  return named === undefined || renderId(named) !== id
}

function describe({ id, title }: Task, folder: string, file: string): Misnamed {
  const name = makeFileName(readId(id)!, title)
  const problem = `the file name does not begin with the id ${id}`
  const advice = `"${name}" already exists: rename it, then run: forge-tasks doctor --fix`
  return { file, problem: exists(folder, name) ? `${problem}; ${advice}` : problem, folder, name }
}

function exists(folder: string, name: string): boolean {
  return statOf(join(folder, name)) !== undefined
}
