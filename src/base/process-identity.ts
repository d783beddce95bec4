import { readFileSync } from 'node:fs'

/** A process for as long as it lives: numbers are given again, a number and a start are not. */
export function processIdentity(pid: number): string | undefined {
  if (process.platform !== 'linux') return isThere(pid) ? String(pid) : undefined
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const isDead = fields[0] === 'Z' || fields[0] === 'X'
    return isDead ? undefined : `${pid}:${fields[19]}`
  } catch {
    return undefined
  }
}

/** Whether the process of that identity is still there. */
export function isAlive(identity: string): boolean {
  return processIdentity(Number(identity.split(':', 1)[0])) === identity
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
