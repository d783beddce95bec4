import { readFileSync, readlinkSync } from 'node:fs'
import { errorCode } from './errors.ts'

/** A process for as long as it lives: a number is given again, but not with the same start and place. */
export function processIdentity(pid: number): string | undefined {
  if (process.platform !== 'linux') return signal(pid) === 'ESRCH' ? undefined : String(pid)
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const isDead = fields[0] === 'Z' || fields[0] === 'X'
    return isDead ? undefined : `${pid}:${fields[19]}:${readPlace()}`
  } catch {
    return undefined
  }
}

/** Whether the process of that identity is still there; unknown where it cannot be seen from here. */
export function lifeOf(identity: string): 'alive' | 'dead' | 'unknown' {
  const [pid = '', , place] = identity.split(':')
  const here = process.platform === 'linux' ? readPlace() : undefined
  if (place !== here) return 'unknown'
  const found = processIdentity(Number(pid))
  if (found === identity) return 'alive'
  // A system may hide the processes of other users.
  return found === undefined && signal(Number(pid)) === 'EPERM' ? 'unknown' : 'dead'
}

/** Where numbers of processes mean the same: containers and machines count for themselves. */
function readPlace(): string | undefined {
  try {
    const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0]
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${namespace}@${boot}`
  } catch {
    return undefined
  }
}

/** What the system says to a signal that does nothing. */
function signal(pid: number): string | undefined {
  try {
    process.kill(pid, 0)
    return undefined
  } catch (error) {
    return errorCode(error)
  }
}
