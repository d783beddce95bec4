import { dlopen, ptr } from 'bun:ffi'
import { readdirSync, readFileSync } from 'node:fs'
import { environment } from './project.ts'

interface Usage {
  readonly cpuSeconds: number
  readonly peakBytes: number
}

/** Thrown for an unexpected exit code: a run that fails early must not count as a fast one. */
class UnexpectedEnd extends Error {}

/** How long a command takes from the start of the process to its end, in ms. */
export function timeOf(argv: readonly string[], cwd: string, code = 0): number {
  const began = performance.now()
  const { exitCode } = Bun.spawnSync([...argv], {
    cwd,
    env: environment(cwd),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const ms = performance.now() - began
  check(argv, exitCode, code)
  return ms
}

/**
 * What a command itself uses, without its children. `wait4` would include the descendants that it has
 * waited for, and here those produce the gigabyte. `/proc/PID/stat` separates own and children's time,
 * and an ended process stays readable there until it is reaped. So its end is awaited with WNOWAIT,
 * before the runtime can reap it. The peak is the maximum of forkhestra, its small children, and this
 * process at the time of the spawn, whose peak a child inherits. It can only be too high.
 */
export async function usageOf(argv: readonly string[], cwd: string, code: number): Promise<Usage> {
  const child = Bun.spawn([...argv], {
    cwd,
    env: environment(cwd),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  waitUnreaped(child.pid)
  const fields = statOf(child.pid)
  check(argv, await child.exited, code)
  const ticks = Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])
  return { cpuSeconds: ticks / TICKS_PER_SECOND, peakBytes: child.resourceUsage()?.maxRSS ?? NaN }
}

/** Live processes with an argument that begins with this path. */
export function livingWith(path: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && statOf(pid)[0] !== 'Z')
    .filter((pid) =>
      readProc(pid, 'cmdline')
        .split('\0')
        .some((word) => word.startsWith(path)),
    )
}

const USER_TICKS = 11
const SYSTEM_TICKS = 12
/** Linux reports times to programs in this unit, whatever the kernel uses internally. */
const TICKS_PER_SECOND = 100

const P_PID = 1
const WEXITED = 4
const WNOWAIT = 0x1000000
const SIGINFO_BYTES = 128

function waitUnreaped(pid: number): void {
  const libc = dlopen('libc.so.6', {
    waitid: { args: ['i32', 'i32', 'ptr', 'i32'], returns: 'i32' },
  })
  const result = libc.symbols.waitid(
    P_PID,
    pid,
    ptr(new Uint8Array(SIGINFO_BYTES)),
    WEXITED | WNOWAIT,
  )
  libc.close()
  if (result !== 0) throw new Error(`process ${pid} could not be waited for`)
}

/** The fields after the name, which may contain spaces; the first one is the state. */
function statOf(pid: number): string[] {
  const stat = readProc(pid, 'stat')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function check(argv: readonly string[], found: number | null, expected: number): void {
  if (found === expected) return
  throw new UnexpectedEnd(`\`${argv.join(' ')}\` ended with ${found}, expected ${expected}`)
}
