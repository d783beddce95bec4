import { join } from 'node:path'
import type { TaskDatabase } from '../../tasks/database.ts'
import type { Changes } from '../../tasks/text/changes.ts'
import type { Undo } from '../../tasks/undo.ts'
import type { Brief } from '../../tasks/view.ts'
import { readSnapshot, type Snapshot } from './snapshot.ts'

/** Throws `UserError` if an operation is refused. */
export interface BoardStore {
  readonly name: string
  load(): Snapshot
  brief(id: string): Brief
  /** Returns the owner whose claim the change has ended. */
  edit(id: string, changes: Changes): string | undefined
  /** Returns the id. */
  create(title: string): string
  /** Undoes the last change of this board; returns the id of its task. */
  undo(): string | undefined
  pathOf(file: string): string
}

export function openBoardStore(database: TaskDatabase): BoardStore {
  const undos: { readonly id: string; readonly undo: () => void }[] = []
  return {
    name: database.name,
    load: () => readSnapshot(database),
    brief: (id) => database.view(id, { isPolling: true }),
    edit(id, changes) {
      let holder: string | undefined
      let made: Undo | undefined
      database.edit(id, changes, {
        onClaimEnded: (_, claim) => (holder = claim.owner),
        onChange: (change) => (made = change),
      })
      // Only now, because `onChange` is called before the change is written.
      const change = made
      if (change !== undefined) undos.push({ id: change.id, undo: () => database.undo(change) })
      return holder
    },
    create(title) {
      const created = database.createUndoable({ title })
      undos.push(created)
      return created.id
    },
    undo() {
      const last = undos.pop()
      last?.undo()
      return last?.id
    },
    pathOf: (file) => join(database.folder, file),
  }
}
