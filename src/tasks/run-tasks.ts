import { join } from 'node:path'
import { Archive } from './archive.ts'
import { endIteration } from './claims/dead-claims.ts'
import { blockingClaims, isSameIteration, NO_OWNER, type Iteration } from './claims/owner.ts'
import { idOfFileName } from './file-name.ts'
import { findTask } from './find.ts'
import type { TaskFolders } from './folders.ts'
import { explainReady, listHeld, listTasks } from './list.ts'
import { listFiles } from './store/folder.ts'
import { readTaskText } from './store/scan.ts'
import { readLocalState, stateStamp } from './store/state.ts'
import type { Attempt, Claim } from './store/state-shape.ts'
import { parseTask } from './task.ts'
import { readCriteria } from './text/criteria.ts'
import { splitFile } from './text/fields.ts'

interface OpenBefore {
  readonly inRun: readonly string[]
  readonly inStep: readonly string[]
}

/** The operations for the process of a run, which owns no tasks; its iterations do. */
export class RunTasks {
  readonly #folders: TaskFolders

  constructor(folders: TaskFolders) {
    this.#folders = folders
  }

  /** The tasks that an iteration holds or has held. */
  heldBy(iteration: Iteration): string[] {
    const { claims, attempts } = readLocalState(this.#folders)
    const isIts = ({ run }: Claim | Attempt) => run !== undefined && isSameIteration(run, iteration)
    const held = Object.keys(claims).filter((id) => isIts(claims[id]!))
    const ended = Object.keys(attempts).filter((id) => attempts[id]!.some(isIts))
    return [...new Set([...held, ...ended])].toSorted()
  }

  /** Changes when somebody claims or releases a task. */
  claimsStamp(): string {
    return stateStamp(this.#folders)
  }

  /** The tasks that an iteration holds now. */
  claimedBy(iteration: Iteration): { readonly id: string; readonly title: string }[] {
    const { claims } = readLocalState(this.#folders)
    return Object.entries(claims).flatMap(([id, { run, settled }]) => {
      const isIts = settled === undefined && run !== undefined && isSameIteration(run, iteration)
      return isIts ? [{ id, title: findTask(this.#folders, id).task.title }] : []
    })
  }

  endIteration(iteration: Iteration, outcome: string): void {
    endIteration(this.#folders, iteration, outcome, new Date())
  }

  /** A hash of the tasks' content, without current and earlier holders; empty if there are no tasks. */
  fingerprint(): string {
    const { tasks } = this.#folders
    const files = listFiles(tasks)
    if (files.length === 0) return ''
    const prints = files.map((file) => hash(describeWork(join(tasks, file), file)))
    return hash(prints.toSorted().join(' '))
  }

  /** Open tasks that someone holds, or has finished in another checkout. */
  inWork() {
    const open = new Set(this.open())
    const claims = blockingClaims(
      readLocalState(this.#folders),
      NO_OWNER,
      this.#folders,
      new Date(),
    )
    return [...claims]
      .filter(([id]) => open.has(id))
      .map(([id, { root, run, settled }]) => ({
        id,
        root,
        ...(run === undefined || settled !== undefined
          ? {}
          : { holder: { run: run.id, step: run.step } }),
      }))
  }

  /** `missing` says why the task is not done. */
  find(word: string): { readonly id: string; readonly status: string; readonly missing?: string } {
    const { task, text } = findTask(this.#folders, word)
    const { id, status } = task
    if (this.#explain().broken.some(({ file }) => idOfFileName(file) === id))
      return {
        id,
        status,
        missing: `another file of ${id} cannot be read; see: forge-tasks doctor`,
      }
    if (status !== 'Done') return { id, status, missing: `${id} is ${status}, not Done` }
    if (readCriteria(text).every(({ isDone }) => isDone)) return { id, status }
    return { id, status, missing: `${id} is Done, but not all of its criteria are checked` }
  }

  open(): string[] {
    return this.#explain().tasks.map(({ task }) => task.id)
  }

  /**
   * `ended`: iterations whose tasks could not be released. No one works on these tasks, so they count as ready.
   */
  count({ inRun, inStep }: OpenBefore, ended: readonly Iteration[] = []) {
    const { tasks, broken } = this.#explain()
    const inProgress = tasks.filter(({ task }) => task.status === 'In Progress')
    const left = this.#heldStill(
      ended,
      inProgress.map(({ task }) => task.id),
    )
    const held = listHeld(this.#folders, asObserver()).difference(left)
    const count = (test: (each: (typeof tasks)[number]) => boolean) => tasks.filter(test).length
    const blocked = tasks.filter(({ task }) => task.status === 'Blocked')
    const blockedTasks = blocked.map(({ task }) => task.id)
    const statuses = new Map(listTasks(this.#folders).tasks.map(({ id, status }) => [id, status]))
    const archive = new Archive(this.#folders)
    const unreadable = new Set(broken.map(({ file }) => idOfFileName(file)))
    const deleted = new Set(readLocalState(this.#folders).deleted)
    const isKnown = (id: string) =>
      statuses.has(id) || archive.has(id) || unreadable.has(id) || deleted.has(id)
    const isFinished = (id: string) => (statuses.get(id) ?? archive.statusOf(id)) === 'Done'
    const isArchivedUnfinished = (id: string) =>
      !statuses.has(id) && archive.has(id) && archive.statusOf(id) !== 'Done'
    return {
      ready: count(({ task, isReady }) => isReady || left.has(task.id)),
      blocked: blockedTasks.length,
      blockedTasks,
      waiting: count(({ task, isReady }) => task.status === 'To Do' && !isReady),
      held: count(({ task }) => held.has(task.id)),
      stuck: inProgress.filter(({ task: { id } }) => !held.has(id) && !left.has(id)).length,
      broken: broken.length,
      gone: inRun.filter((id) => !isKnown(id)).length,
      archivedUnfinished: inStep.filter(isArchivedUnfinished),
      finished: inStep.filter(isFinished),
      deleted: inStep.filter((id) => deleted.has(id) && !statuses.has(id)),
      open: tasks.length,
      total: statuses.size + archive.size,
    }
  }

  /** Those of the tasks that one of these iterations holds. */
  #heldStill(iterations: readonly Iteration[], ids: readonly string[]): ReadonlySet<string> {
    const { claims } = readLocalState(this.#folders)
    const isTheirs = ({ run, settled }: Partial<Claim> = {}) =>
      settled === undefined &&
      run !== undefined &&
      iterations.some((each) => isSameIteration(run, each))
    return new Set(ids.filter((id) => isTheirs(claims[id])))
  }

  #explain(): ReturnType<typeof explainReady> {
    return explainReady(this.#folders, {}, asObserver())
  }
}

const asObserver = () => ({ owner: NO_OWNER, now: new Date() })

function describeWork(path: string, file: string): string {
  let text = ''
  try {
    text = readTaskText(path)
    const { id, title, status, priority, labels, dependencies, parent, due } = parseTask(text, file)
    // A claim changes the status from one to the other, and a release changes it back.
    const state = status === 'In Progress' ? 'To Do' : status
    const lines = text.slice(splitFile(text).body).split('\n')
    const work = lines.filter((line) => !NOT_WORK.test(line.trim()))
    const fields = [id, title, state, priority, labels, dependencies, parent, due]
    return JSON.stringify([...fields, ...work])
  } catch {
    return `${file}\0${text}` // Not a task.
  }
}

/** A note about a task that was taken back from an iteration, and the heading that it may need. */
const NOT_WORK = /^(?:An attempt by .* ended without a result: .*|## Implementation Notes|)$/

function hash(text: string): string {
  return Bun.hash.wyhash(text).toString(36)
}
