import type { Mask, MaskStream } from '../base/secrets/mask.ts'
import type { OutputChunk } from '../records/events/event.ts'

/** Masks the secrets in the output of agents, with one masking stream for each of their streams. */
export class MaskedOutput {
  readonly #mask: Mask
  readonly #open = new Map<string, { readonly stream: MaskStream; readonly last: OutputChunk }>()

  constructor(mask: Mask) {
    this.#mask = mask
  }

  /** The part that may be shown now; undefined if there is none yet. */
  push(chunk: OutputChunk): OutputChunk | undefined {
    const key = `${chunk.scope.join('/')} ${chunk.stream}`
    const open = this.#open.get(key) ?? { stream: this.#mask.stream(), last: chunk }
    this.#open.set(key, open)
    return withBytes(chunk, open.stream.push(chunk.bytes))
  }

  /** The output that was held back, when an iteration ends. */
  end(scope: readonly string[]): OutputChunk[] {
    return (['out', 'err'] as const).flatMap((name) => {
      const key = `${scope.join('/')} ${name}`
      const open = this.#open.get(key)
      this.#open.delete(key)
      const rest = open === undefined ? undefined : withBytes(open.last, open.stream.end())
      return rest === undefined ? [] : [rest]
    })
  }
}

function withBytes(chunk: OutputChunk, bytes: Uint8Array): OutputChunk | undefined {
  if (bytes.length === 0) return undefined
  return bytes === chunk.bytes ? chunk : { ...chunk, bytes }
}
