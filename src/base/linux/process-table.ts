import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { tryOr } from '../errors.ts'

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
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined
    if (stat === undefined || (stat.flags & KERNEL_THREAD) !== 0) return []
    return [{ pid, parent: stat.parent, isDead: stat.isDead }]
  })
}

/** What `/proc/PID/stat` says about a process (Linux). */
export function readStat(pid: number) {
  const stat = readProc(pid, 'stat')
  if (stat === undefined) return undefined
  // The name in parentheses may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return {
    isDead: fields[0] === 'Z' || fields[0] === 'X',
    parent: Number(fields[1]),
    flags: Number(fields[6]),
    startTime: fields[19],
  }
}

/** The content of a file of `/proc/PID` (Linux). */
export function readProc(pid: number, file: string): string | undefined {
  // It has ended, or belongs to another user.
  return tryOr(undefined, () => readFileSync(`/proc/${pid}/${file}`, 'utf8'))
}

/** A variable of the environment with which a process was started (Linux). */
export function readVariable(pid: number, name: string): string | undefined {
  const entries = readEnvironment(pid).split('\0')
  return entries.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** How long to wait for a process to start its program. */
const EXEC_MS = 100

/** While a process starts another program, the kernel shows neither its arguments nor its environment. */
function readEnvironment(pid: number): string {
  for (const end = performance.now() + EXEC_MS; performance.now() < end; Bun.sleepSync(1)) {
    const environment = readProc(pid, 'environ')
    if (environment !== '') return environment ?? ''
    // With arguments, it has started its program by now.
    if (readProc(pid, 'cmdline') !== '') return readProc(pid, 'environ') ?? ''
    if (readStat(pid)?.isDead !== false) return ''
  }
  return ''
}

/** The processes whose current folder is this one or inside it (Linux). */
export function processesIn(folder: string): number[] {
  if (process.platform !== 'linux') return []
  return readProcesses().flatMap(({ pid }) => (isIn(folder, pid) ? [pid] : []))
}

/** Whether the current folder of a process is this one or inside it (Linux). */
export function isIn(folder: string, pid: number): boolean {
  const cwd = currentFolderOf(pid)
  return cwd === folder || cwd?.startsWith(`${folder}/`) === true
}

function currentFolderOf(pid: number): string | undefined {
  // It has ended, or belongs to another user.
  return tryOr(undefined, () => readlinkSync(`/proc/${pid}/cwd`))
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
