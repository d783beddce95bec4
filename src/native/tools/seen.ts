import { createHash } from 'node:crypto'
import { pathInside, type Places } from '../../base/places.ts'

/** A file as a conversation knows it. */
export interface SeenFile {
  /** Absolute, all links followed. */
  readonly path: string
  readonly digest: string
}

/**
 * Which files a conversation knows, and in which state: nothing is overwritten that it does not.
 * One for each conversation; for one that is resumed it is made of the `seen` of its answers.
 */
export class Seen {
  readonly #digests = new Map<string, string>()

  constructor(files: Iterable<SeenFile> = []) {
    for (const file of files) this.note(file)
  }

  note(file: SeenFile): void {
    this.#digests.set(file.path, file.digest)
  }

  /** Whether the conversation knows a file as it is now. */
  knows({ path, digest }: SeenFile): 'not' | 'an older state' | 'yes' {
    const known = this.#digests.get(path)
    if (known === undefined) return 'not'
    return known === digest ? 'yes' : 'an older state'
  }
}

export function seenFile(path: string, bytes: Uint8Array): SeenFile {
  return { path, digest: createHash('sha256').update(bytes).digest('hex') }
}

/** What `/read` of a prompt has handed over is known, too. */
export function seenInPrompt(path: string, text: string, places: Places): SeenFile | undefined {
  const real = pathInside(path, places)
  return real === undefined ? undefined : seenFile(real, Buffer.from(text))
}
