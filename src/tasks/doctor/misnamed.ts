import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import { idOfFileName, makeFileName } from '../file-name.ts'
import { readId, renderId } from '../id.ts'
import type { Task } from '../task.ts'
import type { Ailment } from './finding.ts'

/** Files whose name does not begin with the id that is inside. */
export const misnamed: Ailment = {
  find: (_places, { tasks }) =>
    tasks.filter(isMisnamed).map((task) => ({ file: task.file, problem: problemOf(task) })),

  mend: (places, { tasks }, { draft }) =>
    tasks.filter(isMisnamed).flatMap((task) => {
      const name = makeFileName(readId(task.id)!, task.title)
      if (statOf(join(places.tasks, name)) !== undefined) return []
      draft.move(join(places.tasks, task.file), join(places.tasks, name))
      const mended = `it is called "${name}" now`
      return [{ file: task.file, problem: problemOf(task), mended }]
    }),
}

function isMisnamed({ file, id }: Task): boolean {
  const named = idOfFileName(file)
  return named === undefined || renderId(named) !== id
}

function problemOf({ id }: Task): string {
  return `its name does not begin with its id ${id}`
}
