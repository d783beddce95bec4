import { closeSync, constants, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { UserError } from '../errors.ts'
import { openLibc } from './libc.ts'

const LOCK_SHARED = 1
const LOCK_EXCLUSIVE = 2
const DO_NOT_WAIT = 4
const PATIENCE_MS = 30_000

/** The lock is held by another process; a retry may succeed. */
export class Busy extends UserError {
  override readonly exitCode = 1
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants
// A link could create a file anywhere, and opening a named pipe would wait for a reader.
const FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK

let flock: ((fd: number, operation: number) => number) | undefined

/**
 * Runs `work` while this process holds the lock of a file. The system releases the lock when the holder
 * dies.
 */
export function withLock<Result>(
  path: string,
  work: () => Result,
  patienceMs: number = PATIENCE_MS,
): Result {
  const fd = openSync(path, FLAGS, 0o644)
  try {
    const end = performance.now() + patienceMs
    let pause = 0.5
    while (!isTaken(fd)) {
      if (performance.now() >= end) throw busy(path, patienceMs)
      // Random pauses, so that no waiting process is always late.
      Bun.sleepSync(pause * (0.5 + Math.random()))
      pause = Math.min(pause * 1.5, 10)
    }
    return work()
  } finally {
    closeSync(fd)
  }
}

/** Like `withLock`, but lets the process work while it waits; the lock is held until the returned function is called. */
export async function waitForLock(
  path: string,
  patienceMs: number = PATIENCE_MS,
): Promise<() => void> {
  const end = performance.now() + patienceMs
  for (;;) {
    const giveBack = holdLock(path)
    if (giveBack !== undefined) return giveBack
    if (performance.now() >= end) throw busy(path, patienceMs)
    await Bun.sleep(1 + Math.random() * 5)
  }
}

/**
 * Takes the lock of a file until the returned function is called or this process ends; undefined if
 * another process holds it.
 */
export function holdLock(path: string): (() => void) | undefined {
  const fd = openSync(path, FLAGS, 0o600)
  if (isTaken(fd)) return () => closeSync(fd)
  closeSync(fd)
  return undefined
}

/** How often to try the lock of a folder: `isFolderHeld` in another process holds it for a moment. */
const TRIES = 50

/**
 * Like `holdLock`, for the folder itself: deleting files does not release it. On a file system without
 * such locks it has no effect.
 */
export function holdFolder(path: string): (() => void) | undefined {
  const fd = openSync(path, FOLDER)
  for (let i = 0; i < TRIES; i++) {
    if (isTaken(fd)) return () => closeSync(fd)
    if (isFolderHeld(path)) {
      closeSync(fd)
      return undefined
    }
    Bun.sleepSync(1)
  }
  return () => closeSync(fd)
}

/** Whether a process holds the lock of a folder. If the parent cannot be locked either, locks do not work here. */
export function isFolderHeld(path: string): boolean {
  return !canShare(path) && canShare(dirname(path))
}

const FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

/** Shared locks of a folder work on a network file system, exclusive ones do not. */
function canShare(path: string): boolean {
  const fd = openSync(path, FOLDER)
  try {
    return isTaken(fd, LOCK_SHARED)
  } finally {
    closeSync(fd)
  }
}

function isTaken(fd: number, kind = LOCK_EXCLUSIVE): boolean {
  flock ??= openLibc({ flock: { args: ['i32', 'i32'], returns: 'i32' } })?.flock
  if (flock === undefined) throw new Error('this system has no flock')
  return flock(fd, kind | DO_NOT_WAIT) === 0
}

function busy(path: string, patienceMs: number): Busy {
  return new Busy(
    `Another process has held the lock ${path} for ${patienceMs / 1000} seconds.`,
    'Check for a hung forkhestra or forge-tasks process, then retry.',
  )
}
