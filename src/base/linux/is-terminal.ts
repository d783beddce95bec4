import { fstatSync } from 'node:fs'
import { openLibc } from './libc.ts'

let isatty: ((fd: number) => number) | undefined

/** Whether a file descriptor is a terminal. Avoids `node:tty`, which is slow to load. */
export function isTerminal(fd: number): boolean {
  try {
    if (!fstatSync(fd).isCharacterDevice()) return false
  } catch {
    return false
  }
  // A character device may also be /dev/null.
  isatty ??= openLibc({ isatty: { args: ['i32'], returns: 'i32' } })?.isatty
  return isatty === undefined || isatty(fd) === 1
}
