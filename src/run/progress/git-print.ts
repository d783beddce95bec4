import { constants, fstatSync, lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs'
import { tryOr } from '../../base/errors.ts'

/** Longer files are compared by size and time. */
const LONG_BYTES = 1024 * 1024

/** The most bytes read for one snapshot; files beyond that are also compared by size and time. */
const MOST_BYTES = 16 * 1024 * 1024

/** The cost of opening a file, as an equivalent number of bytes read. */
const LEAST_BYTES = 4096

const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants

/** Makes short texts that differ if the files differ. */
export class Fingerprinter {
  #left = MOST_BYTES
  readonly #ownOutput = [1, 2].flatMap(identifyOutput)

  /** The path need not be valid UTF-8. Undefined for the file that our own output is redirected to. */
  print(path: Buffer): string | undefined {
    try {
      const stat = lstatSync(path)
      if (this.#ownOutput.includes(identify(stat))) return undefined
      if (stat.isSymbolicLink()) return `link ${hash(readlinkSync(path, 'buffer'))}`
      if (stat.isDirectory()) return 'folder'
      return stat.isFile() ? this.#printFile(path, stat) : 'special'
    } catch {
      return 'none'
    }
  }

  #printFile(path: Buffer, stat: Stats): string {
    const kind = (stat.mode & 0o100) === 0 ? 'file' : 'program'
    const cost = Math.max(stat.size, LEAST_BYTES)
    const content = stat.size > LONG_BYTES || cost > this.#left ? undefined : read(path)
    if (content === undefined) return `${kind} ${stat.size} ${stat.mtimeMs}`
    this.#left -= cost
    return `${kind} ${hash(content)}`
  }
}

/** Undefined if this user has no permission. */
function read(path: Buffer): Buffer | undefined {
  // It may have become a pipe or a link since `lstat`.
  return tryOr(undefined, () => readFileSync(path, { flag: O_RDONLY | O_NONBLOCK | O_NOFOLLOW }))
}

function identify({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}

/** The file that a stream of ours is redirected to, as in `forkhestra builder:8 > night.log`. */
function identifyOutput(fd: number): string[] {
  try {
    const stat = fstatSync(fd)
    return stat.isFile() ? [identify(stat)] : []
  } catch {
    return []
  }
}

/** Stable across processes: a resumed run compares with earlier hashes. */
export function hash(content: Buffer | string): string {
  return Bun.hash.wyhash(content).toString(36)
}
