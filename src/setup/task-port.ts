import { errorText } from '../base/errors.ts'
import type { FoundTask, OpenBefore, TaskCounts, Tasks } from '../plan/tasks.ts'
import { Archive, idOfName } from '../tasks/archive.ts'
import { endIteration } from '../tasks/claims/dead-claims.ts'
import { isSameIteration, NOBODY, type Iteration } from '../tasks/claims/owner.ts'
import { findTask } from '../tasks/find.ts'
import { explainReady, listHeld, listTasks } from '../tasks/list.ts'
import { findPlaces, type Places } from '../tasks/store/places.ts'
import { hasState, readState, type Attempt, type Claim } from '../tasks/store/state.ts'
import { readCriteria } from '../tasks/text/criteria.ts'
import { makeTaskFingerprint } from './task-fingerprint.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The tasks of a project, as far as a run asks for them. */
export function makeTaskPort(cwd: string, run: string, env: Environment): Tasks {
  // What an agent finds that calls forge-tasks there, at this moment: it may create the first task, or a
  // repository around the project.
  const places = () => findPlaces(cwd, env)
  /** What could not be ended so far: as long as this process lives, nobody else would. */
  const owed: { readonly by: Iteration; readonly outcome: string }[] = []
  const endOwed = () => {
    for (const each of owed.splice(0)) {
      try {
        endIteration(places(), each.by, each.outcome, new Date())
      } catch {
        owed.push(each)
      }
    }
  }
  const takeFingerprint = makeTaskFingerprint()
  return {
    endIteration(step, iteration, outcome) {
      const by = { id: run, step: String(step), iteration: String(iteration) }
      const here = places()
      if (!hasState(here)) return []
      const ids = workedAt(by, here)
      owed.push({ by, outcome })
      endOwed()
      return ids
    },
    fingerprint() {
      try {
        return takeFingerprint(places().tasks)
      } catch {
        // A folder that is closed to this user has no tasks for a run.
        return ''
      }
    },
    folder: () => places().tasks,
    find: (word) => describeTask(places(), word),
    open() {
      try {
        return explainReady(places(), {}, asking()).tasks.map(({ task }) => task.id)
      } catch {
        return [] // What is wrong is told by `count`.
      }
    },
    count(before = NOTHING_BEFORE) {
      endOwed()
      try {
        return countTasks(places(), before)
      } catch (error) {
        return { ...NOTHING, broken: 1, problem: errorText(error) }
      }
    },
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

const asking = () => ({ owner: NOBODY, now: new Date() })

function countTasks(places: Places, { inRun, inStep }: OpenBefore): TaskCounts {
  const { tasks, broken } = explainReady(places, {}, asking())
  const held = listHeld(places, asking())
  const count = (test: (each: (typeof tasks)[number]) => boolean) => tasks.filter(test).length
  const statuses = new Map(listTasks(places).tasks.map(({ id, status }) => [id, status]))
  const archive = new Archive(places)
  const unreadable = new Set(broken.map(({ file }) => idOfName(file)))
  const deleted = new Set(readState(places).deleted)
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

function describeTask(places: Places, word: string): FoundTask {
  const { task, text } = findTask(places, word)
  const { id, status } = task
  if (status !== 'Done') return { id, lacks: `${id} is ${status}, not Done` }
  if (readCriteria(text).every(({ isDone }) => isDone)) return { id }
  return { id, lacks: `${id} is Done, but not all of its criteria are checked` }
}

/** What an iteration holds, and what it has had and is done with. */
function workedAt(iteration: Iteration, places: Places): string[] {
  const { claims, attempts } = readState(places)
  const isIts = ({ run }: Claim | Attempt) => run !== undefined && isSameIteration(run, iteration)
  const held = Object.keys(claims).filter((id) => isIts(claims[id]!))
  const ended = Object.keys(attempts).filter((id) => attempts[id]!.some(isIts))
  return [...new Set([...held, ...ended])].toSorted()
}
