import { closeSync, constants, openSync } from 'node:fs'
import { UserError } from './errors.ts'
import { openLibc } from './libc.ts'

const LOCK_EXCLUSIVE = 2
const DO_NOT_WAIT = 4
const PATIENCE_MS = 30_000

/** It may be free the next time. */
export class Busy extends UserError {
  override readonly exitCode = 1
}

const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants
// Through a link it could make a file anywhere, and opening a named pipe would wait for a reader.
const FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK

let flock: ((fd: number, operation: number) => number) | undefined

/**
 * Runs something while no other process that asks for the same file does. The system itself gives
 * the lock back when its holder dies, however it dies.
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
      // At random, so that of many that wait none is always late, and less often the longer it takes.
      Bun.sleepSync(pause * (0.5 + Math.random()))
      pause = Math.min(pause * 1.5, 10)
    }
    return work()
  } finally {
    closeSync(fd)
  }
}

/**
 * Takes the lock of a file for as long as this process lives, or until it is given back with what is
 * returned; undefined where another process has it.
 */
export function holdLock(path: string): (() => void) | undefined {
  const fd = openSync(path, FLAGS, 0o600)
  if (isTaken(fd)) return () => closeSync(fd)
  closeSync(fd)
  return undefined
}

function isTaken(fd: number): boolean {
  flock ??= openLibc({ flock: { args: ['i32', 'i32'], returns: 'i32' } })?.flock
  if (flock === undefined) throw new Error('this system has no flock')
  return flock(fd, LOCK_EXCLUSIVE | DO_NOT_WAIT) === 0
}

function busy(path: string, patienceMs: number): Busy {
  return new Busy(
    `Another process has been holding the lock ${path} for ${patienceMs / 1000} seconds.`,
    'See whether one of them hangs, then try again.',
  )
}
