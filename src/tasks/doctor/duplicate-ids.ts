import { dirname, join, relative } from 'node:path'
import { isArchived } from '../archive.ts'
import type { Draft } from '../store/change.ts'
import { applyChanges } from '../text/changes.ts'
import { makeFileName } from '../file-name.ts'
import { setField } from '../text/frontmatter.ts'
import { HIGHEST_NUMBER, readId, renderId, type TaskId } from '../id.ts'
import { askGitSync } from '../../base/tracked.ts'
import type { TaskFolders } from '../folders.ts'
import { byAge } from '../task.ts'
import { findUsedIds, highestOf } from '../used-ids.ts'
import { copiesIn } from './archived.ts'
import {
  allTasks,
  fileNameOf,
  type TaskCheck,
  type Finding,
  type FixTools,
  type LocatedTask,
} from './check.ts'

/** Tasks that got the same id in two clones. The fix gives the younger one a new id. */
export const duplicateIds: TaskCheck = {
  // Duplicates among open tasks are already reported as broken files.
  find: (folders) =>
    findDuplicates(allTasks(folders), folders)
      .filter(({ older, younger }) => [older, younger].some((each) => isArchived(each, folders)))
      .map((pair) => findingOf(pair, folders)),

  fix: (folders, _scan, fixing) => {
    const all = allTasks(folders)
    const pairs = findDuplicates(all, folders)
    if (pairs.length === 0) return []
    const giveNumber = makeNumbers(fixing.draft, findUsedIds(folders))
    return pairs.flatMap((pair) => {
      const id = giveNumber(readId(pair.younger.task.id)!.prefix)
      return id === undefined ? [] : fixPair(pair, id, { all, folders, fixing })
    })
  },
}

interface Pair {
  readonly older: LocatedTask
  readonly younger: LocatedTask
}

interface FixContext {
  readonly all: readonly LocatedTask[]
  readonly folders: TaskFolders
  readonly fixing: FixTools
}

function fixPair(pair: Pair, id: TaskId, { all, folders, fixing }: FixContext): Finding[] {
  const { task, path } = pair.younger
  const meant = all.filter(
    (each) =>
      referencesOf(each).includes(task.id) &&
      fixing.youngerReferences.has(referenceKey(each, pair.younger)),
  )
  fixing.draft.write(path, setField(fixing.draft.read(path), 'id', renderId(id)))
  fixing.draft.move(path, join(dirname(path), makeFileName(id, task.title)))
  return [
    { ...findingOf(pair, folders), mended: `renumbered to ${renderId(id)}` },
    ...meant.map((each) => renameReference(each, task.id, id, fixing)),
  ]
}

/** References to the younger of two tasks with the same id. Slow, because it asks git. */
export function findYoungerReferences(folders: TaskFolders): ReadonlySet<string> {
  const all = allTasks(folders)
  const referring = Map.groupBy(
    all.flatMap((each) => referencesOf(each).map((id) => ({ each, id }))),
    ({ id }) => id,
  )
  const meant = findDuplicates(all, folders).flatMap(({ older, younger }) =>
    (referring.get(younger.task.id) ?? [])
      .filter(({ each }) => refersToYounger(each, younger, older, folders))
      .map(({ each }) => referenceKey(each, younger)),
  )
  return new Set(meant)
}

function referenceKey(reference: LocatedTask, younger: LocatedTask): string {
  return `${reference.path}\0${younger.path}\0${younger.task.id}`
}

function referencesOf({ task }: LocatedTask): string[] {
  return [...new Set([...task.dependencies, ...(task.parent === undefined ? [] : [task.parent])])]
}

/** An archived copy of the same task does not count. */
function findDuplicates(all: readonly LocatedTask[], folders: TaskFolders): Pair[] {
  const copied = new Set(copiesIn(all, folders).map(({ archived }) => archived))
  const tasks = all.filter((each) => !copied.has(each))
  return [...Map.groupBy(tasks, ({ task }) => task.id).values()].flatMap((group) => {
    const [older, ...others] = group.toSorted((a, b) => byAge(a.task, b.task))
    return others.map((younger) => ({ older: older!, younger }))
  })
}

function findingOf({ older, younger }: Pair, folders: TaskFolders): Finding {
  const problem = `has the same id ${older.task.id} as "${fileNameOf(older, folders)}"`
  return { file: fileNameOf(younger, folders), problem }
}

/** Returns ids that were never used, not even by archived or broken files. */
function makeNumbers(draft: Draft, used: ReadonlySet<string>) {
  return (prefix: string): TaskId | undefined => {
    const { state } = draft
    const number = Math.max(state.numbers[prefix] ?? 0, highestOf(used, prefix)) + 1
    if (number > HIGHEST_NUMBER) return undefined
    draft.state = { ...state, numbers: { ...state.numbers, [prefix]: number } }
    return { prefix, number }
  }
}

function renameReference(
  { task, path }: LocatedTask,
  from: string,
  id: TaskId,
  { draft, now }: FixTools,
): Finding {
  const to = renderId(id)
  const changes = {
    ...(task.dependencies.includes(from)
      ? { removeDependencies: [from], addDependencies: [to] }
      : {}),
    ...(task.parent === from ? { parent: to } : {}),
  }
  draft.write(path, applyChanges(draft.read(path), changes, now))
  return {
    file: task.file,
    problem: `refers to ${from}, now ${to}`,
    mended: 'updated the reference',
  }
}

/**
 * Whether a reference to an id that two tasks share means the younger one: it does if only the younger one
 * existed in the commit that added the reference. If git cannot tell, it means the older one.
 */
function refersToYounger(
  reference: LocatedTask,
  younger: LocatedTask,
  older: LocatedTask,
  folders: TaskFolders,
): boolean {
  const { root } = folders
  const name = (path: string) => relative(root, path)
  const search = ['log', '--format=%H', `-S${younger.task.id}`, '--', name(reference.path)]
  const commit = askGitSync(root, search, process.env)?.trim().split('\n').at(-1)
  if (commit === undefined || commit === '') return false
  const isIn = ({ path }: LocatedTask) =>
    askGitSync(root, ['cat-file', '-e', `${commit}:./${name(path)}`], process.env) !== undefined
  return isIn(younger) && !isIn(older)
}
