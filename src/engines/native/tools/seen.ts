import { createHash } from 'node:crypto'
import { pathInside, type Places } from '../../../base/places.ts'

export interface SeenFile {
  /** Absolute, all links followed. */
  readonly path: string
  readonly digest: string
  /** The lines that were seen; absent: all. */
  readonly part?: LineRange
}

interface LineRange {
  readonly first: number
  readonly last: number
  readonly total: number
}

interface Known {
  readonly digest: string
  /** Undefined: all lines. */
  readonly parts: readonly LineRange[] | undefined
}

/**
 * The files that a conversation has seen, and their state: only those may be overwritten. After a
 * resume it is rebuilt from the `seen` of the stored results.
 */
export class SeenFiles {
  readonly #known = new Map<string, Known>()

  constructor(files: Iterable<SeenFile> = []) {
    for (const file of files) this.note(file)
  }

  /** A file seen in parts is known once all its parts were seen in the same state. */
  note({ path, digest, part }: SeenFile): void {
    const before = this.#known.get(path)
    const isSame = before?.digest === digest
    if (part === undefined || (isSame && before.parts === undefined)) {
      this.#known.set(path, { digest, parts: undefined })
      return
    }
    const parts = [...(isSame ? (before.parts ?? []) : []), part]
    this.#known.set(path, { digest, parts: isAll(parts) ? undefined : parts })
  }

  /** Whether the conversation has seen the current state of a file. */
  knows({ path, digest }: SeenFile): 'not' | 'an older state' | 'a part' | 'yes' {
    const known = this.#known.get(path)
    if (known === undefined) return 'not'
    if (known.digest !== digest) return 'an older state'
    return known.parts === undefined ? 'yes' : 'a part'
  }
}

function isAll(parts: readonly LineRange[]): boolean {
  const inOrder = parts.toSorted((one, other) => one.first - other.first)
  const end = inOrder.reduce(
    (seen, { first, last }) => (first <= seen + 1 ? Math.max(seen, last) : seen),
    0,
  )
  return end >= parts.at(-1)!.total
}

export function seenFile(path: string, bytes: Uint8Array): SeenFile {
  return { path, digest: createHash('sha256').update(bytes).digest('hex') }
}

/** For files from `/read` in a prompt. */
export function seenInPrompt(path: string, text: string, places: Places): SeenFile | undefined {
  const real = pathInside(path, places)
  return real === undefined ? undefined : seenFile(real, Buffer.from(text))
}
