import { endIteration } from '../tasks/claims/dead-claims.ts'
import { NOBODY } from '../tasks/claims/owner.ts'
import { explainReady } from '../tasks/list.ts'
import { findPlaces } from '../tasks/store/places.ts'

interface Counts {
  readonly ready: number
  readonly blocked: number
  readonly waiting: number
  readonly inProgress: number
  readonly open: number
}

/** The tasks of a project, as far as a run asks for them. */
export function makeTaskPort(
  cwd: string,
  run: string,
): { endIteration(step: number, iteration: number): void; count(): Counts } {
  return {
    endIteration(step, iteration) {
      try {
        endIteration(findPlaces(cwd), run, String(step), String(iteration), new Date())
      } catch {
        // The claim of a run that is gone frees itself; nothing is lost but time.
      }
    },
    count() {
      const { tasks } = explainReady(findPlaces(cwd), {}, { owner: NOBODY, now: new Date() })
      const count = (test: (each: (typeof tasks)[number]) => boolean) => tasks.filter(test).length
      return {
        ready: count(({ isReady }) => isReady),
        blocked: count(({ task }) => task.status === 'Blocked'),
        inProgress: count(({ task }) => task.status === 'In Progress'),
        waiting: count(({ task, isReady }) => task.status === 'To Do' && !isReady),
        open: tasks.length,
      }
    },
  }
}
