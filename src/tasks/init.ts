import { statOf } from '../base/files.ts'
import { change } from './store/change.ts'
import { checkPrefix, tasksConfigPath, readConfig } from './store/config.ts'
import { Refused } from './refused.ts'
import type { TaskFolders } from './folders.ts'

interface Given {
  readonly prefix?: string | undefined
  readonly name?: string | undefined
}

/** Writes the configuration unless one exists. */
export function initTasks(
  folders: TaskFolders,
  given: Given,
): { readonly path: string; readonly isNew: boolean } {
  const path = tasksConfigPath(folders)
  const config = {
    prefix: checkPrefix(given.prefix ?? 'TASK'),
    ...(given.name === undefined ? {} : { name: given.name }),
    defaults: {},
  }
  if (statOf(path) !== undefined) {
    refuseOther(folders, given)
    return { path, isNew: false }
  }
  return change(folders, (draft) => {
    draft.write(path, `${JSON.stringify(config, null, 2)}\n`)
    return { path, isNew: true }
  })
}

/** Fails if the existing configuration differs from what was asked for. */
function refuseOther(folders: TaskFolders, { prefix, name }: Given): void {
  const config = readConfig(folders)
  const wanted = { prefix: prefix === undefined ? undefined : checkPrefix(prefix), name }
  const lines = (['prefix', 'name'] as const)
    .filter((key) => wanted[key] !== undefined && wanted[key] !== config[key])
    .map((key) => `"${key}": ${JSON.stringify(wanted[key])}`)
  if (lines.length === 0) return
  throw new Refused(
    `${tasksConfigPath(folders)} already exists; nothing was changed.`,
    `Edit it yourself: ${lines.join(', ')}`,
  )
}
