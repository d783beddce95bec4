import { basename, join, relative } from 'node:path'
import { findUndecided, resolveConflicts } from '../text/conflict.ts'
import { runGit } from '../store/git.ts'
import type { Places } from '../store/places.ts'
import { readTaskText, type Broken } from '../store/scan.ts'
import { parseTask } from '../task.ts'
import type { Ailment, Finding, Patient } from './finding.ts'
import { isOversized } from './oversized.ts'

/** Files that cannot be used. A merge conflict goes away where there is one right answer. */
export const brokenFiles: Ailment = {
  find: (places, patient) => allBroken(places, patient).map((each) => withAdvice(places, each)),

  mend: (places, patient, { draft }) =>
    allBroken(places, patient).flatMap(({ file, line, problem }) => {
      const path = join(places.tasks, file)
      const resolved = resolve(path, file)
      if (resolved === undefined) return []
      draft.write(path, resolved)
      return [{ file, line, problem, mended: 'both sides are in it now' }]
    }),

  // For git a conflict is over when it is told so.
  follow: (places, finding) => {
    const name = relative(places.root, join(places.tasks, finding.file))
    const unmerged = runGit(places.root, ['ls-files', '--unmerged', '--', name])
    if (unmerged === undefined || unmerged === '') return finding
    return { ...finding, mended: `${finding.mended}; tell git: git add "${name}"` }
  },
}

/** Those that are only too long have a cure of their own. */
function allBroken({ tasks }: Places, { broken, archived }: Patient): Broken[] {
  return [...broken, ...archived.broken].filter(({ file }) => !isOversized(join(tasks, file)))
}

/** What a person can do about a conflict, and where. */
function withAdvice({ tasks }: Places, { file, line, problem }: Broken): Finding {
  const path = join(tasks, file)
  const text = tryRead(path)
  if (text === undefined || !/^<{7}/m.test(text)) return { file, line, problem }
  if (resolve(path, file) !== undefined) {
    return { file, line, problem: `${problem}; edit the file, or run: forge-tasks doctor --fix` }
  }
  const undecided = findUndecided(text)
  if (undecided === undefined) return { file, line, problem }
  return {
    file,
    line: undecided,
    problem: `${problem}; both sides cannot be right here: edit the file, and take out the marks`,
  }
}

function resolve(path: string, file: string): string | undefined {
  const text = tryRead(path)
  const resolved = text === undefined ? undefined : resolveConflicts(text)
  return resolved === undefined || resolved === text || !isSound(resolved, file)
    ? undefined
    : resolved
}

function isSound(text: string, file: string): boolean {
  try {
    return parseTask(text, basename(file)).id !== ''
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
