import { ptr } from 'bun:ffi'
import { lazyLinuxLibc } from './libc.ts'

// Linux calls that the runtime does not offer. On other systems `libc()` is undefined and the functions
// do nothing.

const SYMBOLS = {
  prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
  pipe2: { args: ['ptr', 'i32'], returns: 'i32' },
  fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  wait4: { args: ['i32', 'ptr', 'i32', 'ptr'], returns: 'i32' },
  waitid: { args: ['i32', 'u32', 'ptr', 'i32'], returns: 'i32' },
} as const

const PR_SET_CHILD_SUBREAPER = 36
const O_CLOEXEC = 0o2000000
const F_SETPIPE_SZ = 1031
const P_ALL = 0
const WNOHANG = 1
const WEXITED = 4
const WNOWAIT = 0x1000000
/** Size of the structure that waitid fills, and the offset of the pid in it. */
const SIGINFO_BYTES = 128
const SIGINFO_PID = 16
const siginfo = Buffer.alloc(SIGINFO_BYTES)

const libc = lazyLinuxLibc(SYMBOLS)

/**
 * Makes this process the parent of every orphan among its descendants, so that none can leave the
 * process tree by a double fork or a new session.
 */
export function adoptOrphans(): void {
  libc()?.prctl(PR_SET_CHILD_SUBREAPER, 1n, 0n, 0n, 0n)
}

/** Whether any child, adopted ones included, has ended and has not been reaped yet. */
export function hasDeadChild(): boolean {
  // The kernel leaves it unchanged if there is no such child.
  siginfo.fill(0)
  const answer = libc()?.waitid(P_ALL, 0, ptr(siginfo), WEXITED | WNOHANG | WNOWAIT)
  return answer === 0 && siginfo.readInt32LE(SIGINFO_PID) !== 0
}

/** Reaps an adopted child that has ended. */
export function reap(pid: number): void {
  libc()?.wait4(pid, null, WNOHANG, null)
}

/** Pipe capacity; output passes four times as fast as with the usual 64 KiB. */
export const PIPE_BYTES = 512 * 1024

/** A real pipe. The runtime makes sockets instead, and `echo > /dev/stderr` fails on those. */
export function openPipe(): { readonly read: number; readonly write: number } | undefined {
  const fds = new Int32Array(2)
  if (libc()?.pipe2(ptr(fds), O_CLOEXEC) !== 0) return undefined
  const [read = -1, write = -1] = fds
  libc()?.fcntl(write, F_SETPIPE_SZ, PIPE_BYTES)
  return { read, write }
}

/** Children that the runtime reaps itself. */
const own = new Set<number>()

/** Marks a child as started by us while it runs, so that it is not reaped as an adopted orphan. */
export async function waitForOwn<Result>(pid: number, ended: Promise<Result>): Promise<Result> {
  own.add(pid)
  try {
    return await ended
  } finally {
    own.delete(pid)
  }
}

export function isOwnChild(pid: number): boolean {
  return own.has(pid)
}

/** Children that belong to no run, such as a notification: the end of a run must not end them. */
const aside = new Set<number>()

export async function waitForAside<Result>(pid: number, ended: Promise<Result>): Promise<Result> {
  aside.add(pid)
  try {
    return await waitForOwn(pid, ended)
  } finally {
    aside.delete(pid)
  }
}

export function childrenAside(): readonly number[] {
  return [...aside]
}
