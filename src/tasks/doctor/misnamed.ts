import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import { inArchive } from '../archive.ts'
import { idOfFileName, makeFileName } from '../file-name.ts'
import { readId, renderId } from '../id.ts'
import type { Places } from '../store/places.ts'
import type { Task } from '../task.ts'
import type { Ailment, Patient } from './finding.ts'

/** Files whose name does not begin with the id that is inside. */
export const misnamed: Ailment = {
  find: (places, patient) =>
    misnamedOf(places, patient).map(({ file, problem }) => ({ file, problem })),

  mend: (places, patient, { draft }) =>
    misnamedOf(places, patient).flatMap(({ file, problem, folder, name }) => {
      if (isThere(folder, name)) return []
      draft.move(join(places.tasks, file), join(folder, name))
      return [{ file, problem, mended: `it is called "${name}" now` }]
    }),
}

interface Misnamed {
  /** Below the folder of the tasks. */
  readonly file: string
  readonly problem: string
  readonly folder: string
  readonly name: string
}

function misnamedOf(places: Places, { tasks, archived }: Patient): Misnamed[] {
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
  const problem = `its name does not begin with its id ${id}`
  const advice = `"${name}" is in the way: rename that, then run: forge-tasks doctor --fix`
  return { file, problem: isThere(folder, name) ? `${problem}; ${advice}` : problem, folder, name }
}

function isThere(folder: string, name: string): boolean {
  return statOf(join(folder, name)) !== undefined
}
