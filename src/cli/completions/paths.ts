import { homedir } from 'node:os'
import { join } from 'node:path'

/** A path that the shell has not expanded yet. */
export function untilde(path: string | undefined): string | undefined {
  if (path === '~') return homedir()
  return path?.startsWith('~/') === true ? join(homedir(), path.slice(2)) : path
}
