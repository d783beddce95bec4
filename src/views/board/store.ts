import { join } from 'node:path'
import type { TaskDatabase } from '../../tasks/database.ts'
import type { Changes } from '../../tasks/text/changes.ts'
import type { Undo } from '../../tasks/undo.ts'
import { readSnapshot } from './snapshot.ts'

export type BoardStore = ReturnType<typeof openBoardStore>

/** The tasks of a board, with undo. Throws `UserError` if an operation is refused. */
export function openBoardStore(database: TaskDatabase) {
  const undos: { readonly id: string; readonly undo: () => void }[] = []
  return {
    name: database.name,
    load: () => readSnapshot(database),
    brief: (id: string) => database.view(id, { isPolling: true }),
    pathOf: (file: string) => join(database.folder, file),
    /** Returns the owner whose claim the change has ended. */
    edit(id: string, changes: Changes): string | undefined {
      let holder: string | undefined
      let made: Undo | undefined
      database.edit(id, changes, {
        onClaimEnded: (_, claim) => (holder = claim.owner),
        onChange: (change) => (made = change),
      })
      // Not earlier, because `onChange` is called before the change is written.
      const change = made
      if (change !== undefined) undos.push({ id: change.id, undo: () => database.undo(change) })
      return holder
    },
    create(title: string): string {
      const created = database.createUndoable({ title })
      undos.push(created)
      return created.id
    },
    /** Undoes the last change of this board; returns the id of its task. */
    undo(): string | undefined {
      const last = undos.pop()
      last?.undo()
      return last?.id
    },
  }
}
