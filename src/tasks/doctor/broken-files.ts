import { join } from 'node:path'
import { resolveConflicts } from '../text/conflict.ts'
import { readTaskText } from '../store/scan.ts'
import { parseTask } from '../task.ts'
import type { Ailment } from './finding.ts'

/** Files that cannot be used. A merge conflict goes away where there is one right answer. */
export const brokenFiles: Ailment = {
  find: (_places, { broken }) =>
    broken.map(({ file, line, problem }) => ({ file: `${file}:${line}`, problem })),

  mend: (places, { broken }, { draft }) =>
    broken.flatMap(({ file, line, problem }) => {
      const path = join(places.tasks, file)
      const text = tryRead(path)
      const resolved = text === undefined ? undefined : resolveConflicts(text)
      if (resolved === undefined || resolved === text || !isSound(resolved, file)) return []
      draft.write(path, resolved)
      return [{ file: `${file}:${line}`, problem, mended: 'both sides are in it now' }]
    }),
}

function isSound(text: string, file: string): boolean {
  try {
    return parseTask(text, file).id !== ''
  } catch {
    return false
  }
}

function tryRead(path: string): string | undefined {
  try {
    return readTaskText(path)
  } catch {
    return undefined
  }
}
