import { statOf } from '../base/files.ts'
import { change } from './store/change.ts'
import { checkPrefix, configPath } from './store/config.ts'
import type { Places } from './store/places.ts'

/** Writes the configuration, unless there is one. */
export function initTasks(
  places: Places,
  given: { readonly prefix?: string | undefined; readonly name?: string | undefined },
): { readonly path: string; readonly isNew: boolean } {
  const path = configPath(places)
  const config = {
    prefix: checkPrefix(given.prefix ?? 'TASK'),
    ...(given.name === undefined ? {} : { name: given.name }),
    defaults: {},
  }
  if (statOf(path) !== undefined) return { path, isNew: false }
  return change(places, (draft) => {
    draft.write(path, `${JSON.stringify(config, null, 2)}\n`)
    return { path, isNew: true }
  })
}
