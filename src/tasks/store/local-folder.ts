import { mkdirSync } from 'node:fs'
import { statOf } from '../../base/files.ts'
import { keepOutOfGit, makePrivateFolder } from '../../base/private-folder.ts'
import type { TaskFolders } from '../folders.ts'

/** Other users must not be able to write state that is trusted later, whatever the umask. */
const NOT_FOR_OTHERS = 0o775

/** Creates a folder for local state. Outside git it is next to the tasks and has its own .gitignore. */
export function makeLocal(folder: string, { tasks, local }: TaskFolders): void {
  if (folder !== local) {
    // Permissions follow the git folder.
    if (statOf(folder) === undefined) mkdirSync(folder, { recursive: true, mode: NOT_FOR_OTHERS })
    return
  }
  mkdirSync(tasks, { recursive: true })
  makePrivateFolder(folder)
  keepOutOfGit(folder)
}
