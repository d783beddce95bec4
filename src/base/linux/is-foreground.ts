import { readFileSync } from 'node:fs'

/** Whether this process may use its terminal: the shell has not put it in the background. */
export function isForeground(): boolean {
  if (process.platform !== 'linux') return true
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return foreground === group || foreground === '-1'
}
