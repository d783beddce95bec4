import { isAbsolute, relative, resolve } from 'node:path'
import { UserError } from '../base/errors.ts'
import { statOf } from '../base/files.ts'
import { findProject, type FoundProject } from '../base/project.ts'
import { holdsRepository } from '../base/repository.ts'
import { shellWord } from '../base/shell-quote.ts'

/** The project that a command works on. Agents, gates and configured paths work from its folder. */
export interface Project extends FoundProject {
  /** What paths that were typed are relative to. */
  readonly here: string
}

/** The folder that was named is taken literally; otherwise the project is looked for upwards. */
export function openProject(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Project {
  const here = resolveCwd(given)
  if (given === undefined) return { ...findProject(here, env), here }
  return { folder: here, searched: [here], isFound: true, here }
}

/** The folder that was named, or the current one, as an absolute path. */
export function resolveCwd(given: string | undefined): string {
  if (given === '') throw new UserError('The path for --cwd is empty.')
  const folder = resolve(given ?? '.')
  const stat = statOf(folder)
  if (stat === undefined) throw new UserError(`The folder for --cwd does not exist: ${given}`)
  if (!stat.isDirectory()) throw new UserError(`The path for --cwd is not a folder: ${given}`)
  return folder
}

/** Which project it is, where that is not obvious. */
export function projectLines({ folder, here, foreign }: Project): string[] {
  const line = folder === here ? [] : [`Project: ${folder}`]
  if (foreign === undefined) return line
  const words = `the project in ${foreign} belongs to another user and is not used`
  return [...line, `Warning: ${words}; to use it: --cwd ${foreign}`]
}

/** The top of the repository, where a new project belongs, if that is not the current folder. */
export function betterPlace({ isFound, here, searched }: Project): string | undefined {
  const top = searched.at(-1)!
  return isFound || top === here || !holdsRepository(top) ? undefined : top
}

/** Refuses to begin a project in the middle of a repository, unless somebody says so. */
export function checkBeginning(project: Project, command: string): void {
  const top = betterPlace(project)
  if (top === undefined) return
  throw new UserError(
    `This folder is inside of the repository ${top}, where a project is expected at the top.`,
    `Begin it there: ${command} --cwd ${shellWord(top)}\nOr in this folder: ${command} --cwd .`,
  )
}

/** A path that was typed, as the project would write it. */
export function pathFromProject(path: string, { folder, here }: Project): string {
  if (path === '' || folder === here || isAbsolute(path)) return path
  return relative(folder, resolve(here, path))
}
