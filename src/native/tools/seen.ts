import { createHash } from 'node:crypto'
import { pathInside, type Places } from '../../base/places.ts'

/** A file as a conversation knows it. */
export interface SeenFile {
  /** Absolute, all links followed. */
  readonly path: string
  readonly digest: string
  /** Which of its lines, where it is not all of them. */
  readonly part?: Part
}

interface Part {
  readonly first: number
  readonly last: number
  readonly total: number
}

interface Known {
  readonly digest: string
  /** Undefined: all of it. */
  readonly parts: readonly Part[] | undefined
}

/**
 * Which files a conversation knows, and in which state: nothing is overwritten that it does not.
 * One for each conversation; for one that is resumed it is made of the `seen` of its answers.
 */
export class Seen {
  readonly #known = new Map<string, Known>()

  constructor(files: Iterable<SeenFile> = []) {
    for (const file of files) this.note(file)
  }

  /** What is seen in parts is known when all of them have been seen in the same state. */
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

  /** Whether the conversation knows a file as it is now. */
  knows({ path, digest }: SeenFile): 'not' | 'an older state' | 'a part' | 'yes' {
    const known = this.#known.get(path)
    if (known === undefined) return 'not'
    if (known.digest !== digest) return 'an older state'
    return known.parts === undefined ? 'yes' : 'a part'
  }
}

function isAll(parts: readonly Part[]): boolean {
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

/** What `/read` of a prompt has handed over is known, too. */
export function seenInPrompt(path: string, text: string, places: Places): SeenFile | undefined {
  const real = pathInside(path, places)
  return real === undefined ? undefined : seenFile(real, Buffer.from(text))
}
