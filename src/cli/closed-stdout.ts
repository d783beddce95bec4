import { fstatSync, readFileSync } from 'node:fs'

/** A flag of an open file: such a file is not inherited by a new program. */
const O_CLOEXEC = 0o2000000

const FLAGS = 'flags:'

/**
 * Whether stdout was closed when the program started. The runtime then opens /dev/null in its place,
 * which its flags distinguish from an inherited one. On systems other than Linux, stdout is assumed
 * to be open.
 */
export function isStdoutClosed(): boolean {
  try {
    if (!fstatSync(1).isCharacterDevice()) return false
    const info = readFileSync('/proc/self/fdinfo/1', 'utf8')
    const flags = Number.parseInt(info.slice(info.indexOf(FLAGS) + FLAGS.length), 8)
    return (flags & O_CLOEXEC) !== 0
  } catch {
    return false
  }
}
