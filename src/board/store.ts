import { basename, join } from 'node:path'
import type { Changes } from '../tasks/text/changes.ts'
import { readConfig } from '../tasks/store/config.ts'
import { createTasks } from '../tasks/create.ts'
import { editTasks } from '../tasks/edit.ts'
import { findTask } from '../tasks/find.ts'
import { undoChange, undoCreate, type Undo } from '../tasks/undo.ts'
import type { Owner } from '../tasks/claims/owner.ts'
import type { Claim } from '../tasks/store/state.ts'
import type { Places } from '../tasks/store/places.ts'
import { makeBrief, type Brief } from '../tasks/view.ts'
import { readSnapshot, type Snapshot } from './snapshot.ts'

/** What a board reads and changes; a `UserError` tells of what is refused. */
export interface Store {
  readonly name: string
  load(): Snapshot
  brief(id: string): Brief
  /** Gives the name of whoever held the task until then, and may still be at it. */
  edit(id: string, changes: Changes): string | undefined
  /** Gives the id. */
  create(title: string): string
  /** Takes the last change of this board back, and gives the id of its task; undefined without one. */
  undo(): string | undefined
  pathOf(file: string): string
}

export function openStore(places: Places, owner: Owner): Store {
  const { name } = readConfig(places)
  const undos: { readonly id: string; readonly work: () => void }[] = []
  return {
    name: name ?? basename(places.root),
    load: () => readSnapshot(places, owner),
    brief: (id) => makeBrief(places, id),
    edit(id, changes) {
      let holder: string | undefined
      const onTaken = (_: string, claim: Claim) => (holder = claim.owner)
      let undo: Undo | undefined
      const onChange = (each: Undo) => (undo = each)
      editTasks(places, [id], changes, { owner, now: new Date(), onTaken, onChange })
      const done = undo
      if (done !== undefined) undos.push({ id: done.id, work: () => undoChange(places, done) })
      return holder
    },
    create(title) {
      const id = createTasks(places, [{ title }], new Date())[0]!
      const { path, text } = findTask(places, id)
      const work = () => undoCreate(places, { id, path, text }, { owner, now: new Date() })
      undos.push({ id, work })
      return id
    },
    undo() {
      const last = undos.pop()
      last?.work()
      return last?.id
    },
    pathOf: (file) => join(places.tasks, file),
  }
}
