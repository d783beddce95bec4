import { basename, join, relative } from 'node:path'
import { findUndecided, resolveConflicts } from '../text/conflict.ts'
import { runGit } from '../store/git.ts'
import type { Places } from '../store/places.ts'
import { readTaskText, type Broken } from '../store/scan.ts'
import { parseTask } from '../task.ts'
import type { Check, Finding, Database } from './finding.ts'
import { isOversized } from './oversized.ts'

/** Files that cannot be read as tasks. Fixes merge conflicts that have only one right answer. */
export const brokenFiles: Check = {
  find: (places, database) => allBroken(places, database).map((each) => withAdvice(places, each)),

  fix: (places, database, { draft }) =>
    allBroken(places, database).flatMap(({ file, line, problem }) => {
      const path = join(places.tasks, file)
      const resolved = resolve(path, file)
      if (resolved === undefined) return []
      draft.write(path, resolved)
      return [{ file, line, problem, mended: 'merged both sides' }]
    }),

  // Git considers a conflict resolved only after `git add`.
  follow: (places, finding) => {
    const name = relative(places.root, join(places.tasks, finding.file))
    const unmerged = runGit(places.root, ['ls-files', '--unmerged', '--', name])
    if (unmerged === undefined || unmerged === '') return finding
    return { ...finding, mended: `${finding.mended}; mark it as resolved: git add "${name}"` }
  },
}

/** Oversized files have a check of their own. */
function allBroken({ tasks }: Places, { broken, archived }: Database): Broken[] {
  return [...broken, ...archived.broken].filter(({ file }) => !isOversized(join(tasks, file)))
}

/** Adds how to resolve a conflict, and the line that a person has to decide. */
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
    problem: `${problem}; the two sides contradict each other: edit the file and remove the conflict markers`,
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
