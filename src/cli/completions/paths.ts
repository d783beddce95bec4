import { homedir } from 'node:os'
import { join } from 'node:path'
import { openProject, type Project } from '../../host/project.ts'
import type { Typed } from './program.ts'

/** The project that `--cwd` names, or the current one. */
export function typedProject(options: Typed['options']): Project {
  return openProject(untilde(options.get('cwd')?.at(-1)), process.env)
}

/** A path that the shell has not expanded yet. */
export function untilde(path: string | undefined): string | undefined {
  if (path === '~') return homedir()
  return path?.startsWith('~/') === true ? join(homedir(), path.slice(2)) : path
}
