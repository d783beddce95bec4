import { accessSync, constants } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { errorCode, NotNow, UserError } from '../base/errors.ts'
import { statOf } from '../base/files.ts'
import { shownPath } from '../base/terminal/printable.ts'
import { findProject, type FoundProject } from '../base/project.ts'
import { holdsRepository } from '../base/repository.ts'
import { shellWord } from '../base/shell-quote.ts'

/** The project that a command works on. Agents, gates and configured paths work from its folder. */
export interface Project extends FoundProject {
  /** Paths on the command line are relative to it. */
  readonly here: string
}

/** Uses the given folder; without one, searches upwards for the project. */
export function openProject(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Project {
  const here = resolveCwd(given)
  if (given === undefined) return { ...findProject(here, env), here }
  return { folder: here, searched: [here], isFound: true, here }
}

/** The absolute path of the given folder, or of the current one. */
export function resolveCwd(given: string | undefined): string {
  if (given === undefined) return currentFolder()
  if (given === '') throw new UserError('The path for --cwd is empty.')
  const folder = resolve(given)
  const stat = statOf(folder)
  if (stat === undefined) throw new UserError(`The folder for --cwd does not exist: ${given}`)
  if (!stat.isDirectory()) throw new UserError(`The path for --cwd is not a folder: ${given}`)
  return folder
}

/** It may have been deleted, unmounted or made inaccessible. */
function currentFolder(): string {
  const folder = resolve('.')
  try {
    accessSync(folder, constants.X_OK)
    return folder
  } catch (error) {
    if (folder.includes('\uFFFD')) {
      throw new NotNow(
        `The name of the current folder is not UTF-8 text: ${shownPath(folder)}`,
        'Rename it.',
      )
    }
    const what = errorCode(error) === 'ENOENT' ? 'no longer exists' : 'cannot be read'
    throw new NotNow(
      `The current folder ${what}: ${shownPath(folder)}`,
      'Change to another folder, or name the project with --cwd.',
    )
  }
}

/** The project of the current folder, even if that is gone; shows whether a command needs `--cwd`. */
export function currentProject(env: Readonly<Record<string, string | undefined>>): string {
  return findProject(resolve('.'), env).folder
}

/** Shows which project is used if that is not obvious. */
export function projectLines({ folder, here, foreign }: Project): string[] {
  const line = folder === here ? [] : [`Project: ${folder}`]
  if (foreign === undefined) return line
  const words = `the project in ${foreign} belongs to another user and is not used`
  return [...line, `Warning: ${words}; to use it: --cwd ${foreign}`]
}

/** Refuses to create a project inside a repository unless the user names the folder. */
export function refuseNestedProject({ isFound, here, searched }: Project, command: string): void {
  const top = searched.at(-1)!
  if (isFound || top === here || !holdsRepository(top)) return
  throw new UserError(
    `This folder is inside the repository ${top}; a project belongs at its top.`,
    `Create it there: ${command} --cwd ${shellWord(top)}\nOr in this folder: ${command} --cwd .`,
  )
}

/** A path from the command line, relative to the project. */
export function pathFromProject(
  path: string,
  { folder, here }: Pick<Project, 'folder' | 'here'>,
): string {
  if (path === '' || folder === here || isAbsolute(path)) return path
  return relative(folder, resolve(here, path))
}
