import { join } from 'node:path'
import { errorText } from '../base/errors.ts'
import type { FoundTask, OpenBefore, TaskCounts } from '../chain/plan/tasks.ts'
import { Archive, idOfName } from '../tasks/archive.ts'
import { endIteration } from '../tasks/claims/dead-claims.ts'
import { isSameIteration, NO_OWNER, type Iteration } from '../tasks/claims/owner.ts'
import { findTask } from '../tasks/find.ts'
import { explainReady, listHeld, listTasks } from '../tasks/list.ts'
import { listFiles } from '../tasks/store/folder.ts'
import type { TaskFolders } from '../tasks/folders.ts'
import { readTaskText } from '../tasks/store/scan.ts'
import { hasState, readLocalState } from '../tasks/store/state.ts'
import type { Attempt, Claim } from '../tasks/store/state-shape.ts'
import { parseTask } from '../tasks/task.ts'
import { readCriteria } from '../tasks/text/criteria.ts'
import { splitFile } from '../tasks/text/fields.ts'

/** The tasks of a project for a run. */
export class RunTasks {
  readonly #run: string
  readonly #folders: () => TaskFolders
  /** Iterations whose tasks could not be released yet; no other process does it while this one lives. */
  readonly #owed: { readonly by: Iteration; readonly outcome: string }[] = []

  constructor(run: string, folders: () => TaskFolders) {
    this.#run = run
    this.#folders = folders
  }

  endIteration(step: number, iteration: number, outcome: string): string[] {
    const by = { id: this.#run, step: String(step), iteration: String(iteration) }
    const here = this.#folders()
    if (!hasState(here)) return []
    const ids = workedAt(by, here)
    this.#owed.push({ by, outcome })
    this.#endOwed()
    return ids
  }

  fingerprint(): string {
    try {
      return takeFingerprint(this.#folders().tasks)
    } catch {
      return '' // A folder that this user cannot read has no tasks for a run.
    }
  }

  find(word: string): FoundTask {
    return describeTask(this.#folders(), word)
  }

  open(): string[] {
    try {
      return explainReady(this.#folders(), {}, asking()).tasks.map(({ task }) => task.id)
    } catch {
      return [] // `count` reports the problem.
    }
  }

  count(before = NOTHING_BEFORE): TaskCounts {
    this.#endOwed()
    try {
      return countTasks(this.#folders(), before)
    } catch (error) {
      return { ...NOTHING, broken: 1, problem: errorText(error) }
    }
  }

  #endOwed(): void {
    for (const each of this.#owed.splice(0)) {
      try {
        endIteration(this.#folders(), each.by, each.outcome, new Date())
      } catch {
        this.#owed.push(each)
      }
    }
  }
}

const NOTHING = {
  ready: 0,
  blocked: 0,
  waiting: 0,
  held: 0,
  stuck: 0,
  broken: 0,
  gone: 0,
  shelved: [],
  finished: [],
  deleted: [],
  open: 0,
  total: 0,
}

const NOTHING_BEFORE: OpenBefore = { inRun: [], inStep: [] }

const asking = () => ({ owner: NO_OWNER, now: new Date() })

function countTasks(folders: TaskFolders, { inRun, inStep }: OpenBefore): TaskCounts {
  const { tasks, broken } = explainReady(folders, {}, asking())
  const held = listHeld(folders, asking())
  const count = (test: (each: (typeof tasks)[number]) => boolean) => tasks.filter(test).length
  const statuses = new Map(listTasks(folders).tasks.map(({ id, status }) => [id, status]))
  const archive = new Archive(folders)
  const unreadable = new Set(broken.map(({ file }) => idOfName(file)))
  const deleted = new Set(readLocalState(folders).deleted)
  const isKnown = (id: string) =>
    statuses.has(id) || archive.has(id) || unreadable.has(id) || deleted.has(id)
  const isFinished = (id: string) => (statuses.get(id) ?? archive.statusOf(id)) === 'Done'
  const isShelved = (id: string) =>
    !statuses.has(id) && archive.has(id) && archive.statusOf(id) !== 'Done'
  return {
    ready: count(({ isReady }) => isReady),
    blocked: count(({ task }) => task.status === 'Blocked'),
    waiting: count(({ task, isReady }) => task.status === 'To Do' && !isReady),
    held: count(({ task }) => held.has(task.id)),
    stuck: count(({ task }) => task.status === 'In Progress' && !held.has(task.id)),
    broken: broken.length,
    gone: inRun.filter((id) => !isKnown(id)).length,
    shelved: inStep.filter(isShelved),
    finished: inStep.filter(isFinished),
    deleted: inStep.filter((id) => deleted.has(id) && !statuses.has(id)),
    open: tasks.length,
    total: statuses.size + archive.size,
  }
}

function describeTask(folders: TaskFolders, word: string): FoundTask {
  const { task, text } = findTask(folders, word)
  const { id, status } = task
  if (status !== 'Done') return { id, lacks: `${id} is ${status}, not Done` }
  if (readCriteria(text).every(({ isDone }) => isDone)) return { id }
  return { id, lacks: `${id} is Done, but not all of its criteria are checked` }
}

/** The tasks that an iteration holds or has held. */
function workedAt(iteration: Iteration, folders: TaskFolders): string[] {
  const { claims, attempts } = readLocalState(folders)
  const isIts = ({ run }: Claim | Attempt) => run !== undefined && isSameIteration(run, iteration)
  const held = Object.keys(claims).filter((id) => isIts(claims[id]!))
  const ended = Object.keys(attempts).filter((id) => attempts[id]!.some(isIts))
  return [...new Set([...held, ...ended])].toSorted()
}

/** A hash of what the tasks in a folder say, without who holds or held them; empty if there are none. */
function takeFingerprint(folder: string): string {
  const files = listFiles(folder)
  if (files.length === 0) return ''
  const prints = files.map((file) => hash(describeWork(join(folder, file), file)))
  return hash(prints.toSorted().join(' '))
}

function describeWork(path: string, file: string): string {
  let text = ''
  try {
    text = readTaskText(path)
    const { id, title, status, priority, labels, dependencies, parent, due } = parseTask(text, file)
    // A claim changes the status from one to the other, and a release changes it back.
    const state = status === 'In Progress' ? 'To Do' : status
    const lines = text.slice(splitFile(text).body).split('\n')
    const work = lines.filter((line) => !NO_WORK.test(line.trim()))
    const fields = [id, title, state, priority, labels, dependencies, parent, due]
    return JSON.stringify([...fields, ...work])
  } catch {
    return `${file}\0${text}` // Not a task.
  }
}

/** A note about a task that was taken back from an iteration, and the heading that it may need. */
const NO_WORK = /^(?:An attempt by .* ended without a result: .*|## Implementation Notes|)$/

function hash(text: string): string {
  return Bun.hash.wyhash(text).toString(36)
}
