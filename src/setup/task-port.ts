import { statOf } from '../base/files.ts'
import type { Tasks } from '../plan/tasks.ts'
import { endIteration } from '../tasks/claims/dead-claims.ts'
import { isSameIteration, NOBODY, type Iteration } from '../tasks/claims/owner.ts'
import { explainReady, listHeld, listTasks } from '../tasks/list.ts'
import { findPlaces, type Places } from '../tasks/store/places.ts'
import { hasState, readState, type Attempt, type Claim } from '../tasks/store/state.ts'
import { makeTaskFingerprint } from './task-fingerprint.ts'

/** The tasks of a project, as far as a run asks for them. */
export function makeTaskPort(cwd: string, run: string): Tasks {
  let known = findPlaces(cwd)
  // Looked for anew as long as there are none: an agent may make the first one.
  const places = () => (isFolder(known.tasks) ? known : (known = findPlaces(cwd)))
  let wasThere = isFolder(known.tasks)
  const takeFingerprint = makeTaskFingerprint()
  return {
    endIteration(step, iteration, outcome) {
      const by = { id: run, step: String(step), iteration: String(iteration) }
      let ids: string[] = []
      if (!hasState(known)) return ids
      try {
        ids = workedAt(by, known)
        endIteration(known, by, outcome, new Date())
      } catch {
        // The claim of a run that is gone frees itself; nothing is lost but time.
      }
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
    count() {
      const isThere = isFolder(places().tasks)
      const isGone = wasThere && !isThere
      wasThere ||= isThere
      const asking = { owner: NOBODY, now: new Date() }
      const { tasks, broken } = explainReady(places(), {}, asking)
      const held = listHeld(places(), asking)
      const count = (test: (each: (typeof tasks)[number]) => boolean) => tasks.filter(test).length
      return {
        ready: count(({ isReady }) => isReady),
        blocked: count(({ task }) => task.status === 'Blocked'),
        waiting: count(({ task, isReady }) => task.status === 'To Do' && !isReady),
        held: count(({ task }) => held.has(task.id)),
        stuck: count(({ task }) => task.status === 'In Progress' && !held.has(task.id)),
        // A folder that an agent has taken away is no finished work.
        broken: broken.length + Number(isGone),
        open: tasks.length,
        total: listTasks(places()).tasks.length,
      }
    },
  }
}

/** What an iteration holds, and what it has had and is done with. */
function workedAt(iteration: Iteration, places: Places): string[] {
  const { claims, attempts } = readState(places)
  const isIts = ({ run }: Claim | Attempt) => run !== undefined && isSameIteration(run, iteration)
  const held = Object.keys(claims).filter((id) => isIts(claims[id]!))
  const ended = Object.keys(attempts).filter((id) => attempts[id]!.some(isIts))
  return [...new Set([...held, ...ended])].toSorted()
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() === true
}
