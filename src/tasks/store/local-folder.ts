import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import { makePrivateFolder } from '../../base/private-folder.ts'
import type { Places } from './places.ts'

/** Whatever the umask, other users must not write what we believe later. */
const NOT_FOR_OTHERS = 0o775

/**
 * Makes a folder for local state, unless it is there. Outside of git it lies beside the tasks, and keeps
 * itself out of a later repository.
 */
export function makeLocal(folder: string, { tasks, local }: Places): void {
  if (folder !== local) {
    // Git says who shares its folder.
    if (statOf(folder) === undefined) mkdirSync(folder, { recursive: true, mode: NOT_FOR_OTHERS })
    return
  }
  mkdirSync(tasks, { recursive: true })
  makePrivateFolder(folder)
  const path = join(folder, '.gitignore')
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return
  // Never through a link: it may lead anywhere.
  writeFileSync(path, '*\n', { flag: 'wx', mode: 0o600 })
}
