import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'

export interface Row {
  readonly pid: number
  readonly parent: number
  readonly isDead: boolean
}

export function readProcesses(): Row[] {
  return process.platform === 'linux' ? readProcFolder() : readProcessTable()
}

const KERNEL_THREAD = 0x200000

function readProcFolder(): Row[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined
    if (stat === undefined) return []
    // The name in parentheses may itself hold spaces and parentheses.
    const [state, parent, , , , , flags] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // Of half the numbers on a machine the kernel itself is behind: they belong to nobody.
    if ((Number(flags) & KERNEL_THREAD) !== 0) return []
    return [{ pid, parent: Number(parent), isDead: state === 'Z' || state === 'X' }]
  })
}

/** Longer than any of them. */
const room = Buffer.allocUnsafe(4096)

/** There may be hundreds, and reading a whole file asks for more than the one line that is in it. */
function readStat(pid: number): string | undefined {
  try {
    const fd = openSync(`/proc/${pid}/stat`, 'r')
    try {
      return room.toString('latin1', 0, readSync(fd, room))
    } finally {
      closeSync(fd)
    }
  } catch {
    return undefined // It has ended.
  }
}

/** A file about a process, where that is Linux. */
export function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined // It has ended, or it is another user's.
  }
}

/** The children of this process, dead ones included. */
export function readOwnChildren(): number[] {
  const { pid } = process
  // Asks for nobody else, where the kernel was built with it.
  const listed = process.platform === 'linux' ? readProc(pid, `task/${pid}/children`) : undefined
  if (listed !== undefined) return listed.split(' ').filter(Boolean).map(Number)
  return readProcesses().flatMap((row) => (row.parent === pid ? [row.pid] : []))
}

function readProcessTable(): Row[] {
  const { stdout } = Bun.spawnSync(['/bin/ps', '-axo', 'pid=,ppid=,stat='])
  return stdout
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length === 3)
    .map(([pid, parent, state = '']) => ({
      pid: Number(pid),
      parent: Number(parent),
      isDead: state.startsWith('Z'),
    }))
}
