import { deleteTask } from './delete.ts'
import type { Asking } from './list.ts'
import { Refused } from './refused.ts'
import { change } from './store/change.ts'
import type { Places } from './store/places.ts'
import { readTaskText } from './store/scan.ts'
import type { Attempt, Claim, State } from './store/state.ts'

/** What one task was before a change and after it, with who held it. */
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

/** Takes a change back; refused where anything has changed since, so that nobody's work is lost. */
export function undoChange(places: Places, { id, path, before, after }: Undo): void {
  change(places, (draft) => {
    const { state } = draft
    const isSame = readOrNone(path) === after.text && isSameClaim(state.claims[id], after.claim)
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

/** Takes back that a task was created. */
export function undoCreate(
  places: Places,
  { id, path, text }: { readonly id: string; readonly path: string; readonly text: string },
  asking: Asking,
): void {
  if (readOrNone(path) !== text) throw changedSince(id)
  deleteTask(places, id, asking)
}

function changedSince(id: string): Refused {
  return new Refused(`${id} has changed since, so nothing was undone.`)
}

/** A claim that was only renewed is still the same. */
function isSameClaim(a: Claim | undefined, b: Claim | undefined): boolean {
  return a?.owner === b?.owner && a?.at === b?.at && a?.settled === b?.settled
}

function readOrNone(path: string): string | undefined {
  try {
    return readTaskText(path)
  } catch {
    return undefined
  }
}
