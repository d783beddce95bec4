import { basename, join } from 'node:path'
import type { Changes } from '../tasks/text/changes.ts'
import { readConfig } from '../tasks/store/config.ts'
import { createTasks } from '../tasks/create.ts'
import { editTasks } from '../tasks/edit.ts'
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
  pathOf(file: string): string
}

export function openStore(places: Places, owner: Owner): Store {
  const { name } = readConfig(places)
  return {
    name: name ?? basename(places.root),
    load: () => readSnapshot(places),
    brief: (id) => makeBrief(places, id),
    edit(id, changes) {
      let holder: string | undefined
      const onTaken = (_: string, claim: Claim) => (holder = claim.owner)
      editTasks(places, [id], changes, { owner, now: new Date(), onTaken })
      return holder
    },
    create: (title) => createTasks(places, [{ title }], new Date())[0]!,
    pathOf: (file) => join(places.tasks, file),
  }
}
