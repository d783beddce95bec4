import { fstatSync, readFileSync } from 'node:fs'

/** In the flags of an open file; no program can hand such a file on to the one that it becomes. */
const O_CLOEXEC = 0o2000000

const FLAGS = 'flags:'

/**
 * Whether stdout was closed when we were started. The runtime then puts /dev/null in its place, where
 * everything can be written and nothing is read: it is known by not having been handed to us. Where
 * the system cannot tell (it is not Linux), stdout is assumed to be open.
 */
export function isStdoutClosed(): boolean {
  try {
    // Asked before every answer: a pipe or a file needs no second look.
    if (!fstatSync(1).isCharacterDevice()) return false
    const info = readFileSync('/proc/self/fdinfo/1', 'utf8')
    const flags = Number.parseInt(info.slice(info.indexOf(FLAGS) + FLAGS.length), 8)
    return (flags & O_CLOEXEC) !== 0
  } catch {
    return false
  }
}
