import { readdirSync, readFileSync } from 'node:fs'

export interface Row {
  readonly pid: number
  readonly parent: number
  readonly isDead: boolean
}

export function readProcesses(): Row[] {
  return process.platform === 'linux' ? readProcFolder() : runPs()
}

const KERNEL_THREAD = 0x200000

function readProcFolder(): Row[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    const stat = Number.isInteger(pid) ? readProc(pid, 'stat') : undefined
    if (stat === undefined) return []
    // The name in parentheses may itself contain spaces and parentheses.
    const [state, parent, , , , , flags] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if ((Number(flags) & KERNEL_THREAD) !== 0) return []
    return [{ pid, parent: Number(parent), isDead: state === 'Z' || state === 'X' }]
  })
}

/** The content of a file of `/proc/PID` (Linux). */
export function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined // It has ended, or belongs to another user.
  }
}

/** A variable of the environment with which a process was started (Linux). */
export function readVariable(pid: number, name: string): string | undefined {
  const entries = readProc(pid, 'environ')?.split('\0') ?? []
  return entries.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** The children of this process, dead ones included. */
export function readOwnChildren(): number[] {
  const { pid } = process
  // Much faster than reading all processes, but not every kernel has it.
  const listed = process.platform === 'linux' ? readProc(pid, `task/${pid}/children`) : undefined
  if (listed !== undefined) return listed.split(' ').filter(Boolean).map(Number)
  return readProcesses().flatMap((row) => (row.parent === pid ? [row.pid] : []))
}

function runPs(): Row[] {
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
