import { readdirSync, readFileSync } from 'node:fs'

export interface Row {
  readonly pid: number
  readonly parent: number
  readonly isDead: boolean
}

export function readProcesses(): Row[] {
  return process.platform === 'linux' ? readProcFolder() : readProcessTable()
}

function readProcFolder(): Row[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    const stat = Number.isInteger(pid) ? readProc(pid, 'stat') : undefined
    if (stat === undefined) return []
    // The name in parentheses may itself hold spaces and parentheses.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid, parent: Number(parent), isDead: state === 'Z' || state === 'X' }]
  })
}

/** A file about a process, where that is Linux. */
export function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined // It has ended, or it is another user's.
  }
}

function readProcessTable(): Row[] {
  const { stdout } = Bun.spawnSync(['ps', '-axo', 'pid=,ppid=,stat='])
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
