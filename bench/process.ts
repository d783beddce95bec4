import { dlopen, ptr } from 'bun:ffi'
import { readdirSync, readFileSync } from 'node:fs'
import { environment } from './project.ts'

interface Usage {
  readonly cpuSeconds: number
  readonly peakBytes: number
}

/** Thrown where a program ends otherwise than it should: a run that fails early is no fast run. */
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
 * What a command itself uses, without its children. The usage that the system hands to a waiting
 * parent holds the waited-for descendants too, and here those make the gigabyte. `/proc/PID/stat`
 * keeps own and children's time apart, and a process that has ended can still be read there until it
 * is reaped: so its end is waited for with WNOWAIT, before the runtime gets a chance to reap it.
 * The peak is a maximum, not a sum: of forkhestra, its small children, and this process at the time
 * of the spawn, whose peak the system hands down. It can only be too high.
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

/** Living processes that were called with a path that begins like this. */
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
/** Fixed by Linux for what it shows to programs, whatever the kernel counts in. */
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

/** The fields behind the name, which may itself hold spaces; the first one is the state. */
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
