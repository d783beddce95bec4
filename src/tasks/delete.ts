import { findTask, hasTask } from './find.ts'
import { readId } from './id.ts'
import { Refused } from './refused.ts'
import { endOwnClaim, heldByAnother, refuseHeld, type ArchiveOptions } from './archive-tasks.ts'
import { change } from './store/change.ts'
import { listCheckouts } from './store/checkouts.ts'
import type { Places } from './store/places.ts'
import { scanTasks } from './store/scan.ts'
import type { State } from './store/state.ts'
import type { Task } from './task.ts'

/** Deletes a task that nothing depends on. Its id is never reused. */
export function deleteTask(places: Places, word: string, caller: ArchiveOptions): string {
  return change(places, (draft) => {
    const { task, path } = findTask(places, word)
    refuseHeld(task.id, heldByAnother(draft.state.claims[task.id], caller), places)
    if (caller.force !== true) refuseNeeded(places, task)
    const ended = withDeleted(withNumber(endOwnClaim(draft.state, task, caller), task), task)
    draft.state = isElsewhere(ended, task, places) ? ended : withoutTask(ended, task)
    draft.remove(path)
    return task.id
  })
}

/** Enough for a run to learn what was deleted while it was running. */
const MOST_DELETED = 1000

function withDeleted(state: State, { id }: Task): State {
  return { ...state, deleted: [...(state.deleted ?? []), id].slice(-MOST_DELETED) }
}

function withNumber(state: State, { id }: Task): State {
  const { prefix: own, number } = readId(id)!
  const numbers = { ...state.numbers, [own]: Math.max(state.numbers[own] ?? 0, number) }
  return { ...state, numbers }
}

/** Another checkout keeps the task, and needs its claim and attempts, until the deletion is merged there. */
function isElsewhere(state: State, { id }: Task, here: Places): boolean {
  return listCheckouts(state, here).some((there) => there !== here && hasTask(there, id))
}

function withoutTask(state: State, { id }: Task): State {
  const { [id]: _, ...claims } = state.claims
  const { [id]: _ended, ...attempts } = state.attempts
  return { ...state, claims, attempts }
}

function refuseNeeded(places: Places, { id }: Task): void {
  const { tasks } = scanTasks(places)
  const idsOf = (others: readonly Task[]) => others.map((each) => each.id).join(', ')
  const waiting = tasks.filter((each) => each.dependencies.includes(id))
  if (waiting.length > 0) {
    throw new Refused(
      `${idsOf(waiting)} ${waiting.length === 1 ? 'depends' : 'depend'} on ${id}.`,
      'Remove the dependency first, or use --force.',
    )
  }
  const parts = tasks.filter((each) => each.parent === id)
  if (parts.length > 0) {
    throw new Refused(
      `${id} is the parent of ${idsOf(parts)}.`,
      'Change their parent first, or use --force.',
    )
  }
}
