import { deleteTask } from './archive-tasks.ts'
import type { Caller } from './claims/owner.ts'
import { Refused } from './refused.ts'
import { change } from './store/change.ts'
import type { TaskFolders } from './folders.ts'
import { tryToReadText } from './store/scan.ts'
import type { Attempt, Claim, State } from './store/state-shape.ts'

/** A task and its claim before and after a change. */
export interface Undo {
  readonly id: string
  readonly path: string
  readonly before: Version
  readonly after: Version
}

interface Version {
  readonly text: string
  readonly claim: Claim | undefined
  readonly attempts: readonly Attempt[] | undefined
}

export function versionOf({ claims, attempts }: State, id: string, text: string): Version {
  return { text, claim: claims[id], attempts: attempts[id] }
}

/** Undoes a change; refused if the task has changed since, so that no work is lost. */
export function undoChange(folders: TaskFolders, { id, path, before, after }: Undo): void {
  change(folders, (draft) => {
    const { state } = draft
    const isSame = tryToReadText(path) === after.text && isSameClaim(state.claims[id], after.claim)
    if (!isSame) throw changedSince(id)
    draft.write(path, before.text)
    const { [id]: _, ...claims } = state.claims
    const { [id]: _ended, ...attempts } = state.attempts
    draft.state = {
      ...state,
      claims: before.claim === undefined ? claims : { ...claims, [id]: before.claim },
      attempts: before.attempts === undefined ? attempts : { ...attempts, [id]: before.attempts },
    }
  })
}

export function undoCreate(
  folders: TaskFolders,
  { id, path, text }: { readonly id: string; readonly path: string; readonly text: string },
  caller: Caller,
): void {
  if (tryToReadText(path) !== text) throw changedSince(id)
  deleteTask(folders, id, caller)
}

function changedSince(id: string): Refused {
  return new Refused(`${id} has changed since; nothing was undone.`)
}

/** Ignores renewals of the lease. */
function isSameClaim(a: Claim | undefined, b: Claim | undefined): boolean {
  return a?.owner === b?.owner && a?.at === b?.at && a?.settled === b?.settled
}
