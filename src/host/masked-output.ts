import type { Mask, MaskStream } from '../base/secrets/mask.ts'
import type { OutputChunk } from '../records/events/event.ts'

/** Takes the secrets out of what agents print; one stream of bytes for each of theirs. */
export class MaskedOutput {
  readonly #mask: Mask
  readonly #open = new Map<string, { readonly stream: MaskStream; readonly last: OutputChunk }>()

  constructor(mask: Mask) {
    this.#mask = mask
  }

  /** What may be shown of it now; undefined: nothing yet. */
  push(chunk: OutputChunk): OutputChunk | undefined {
    const key = `${chunk.scope.join('/')} ${chunk.stream}`
    let open = this.#open.get(key)
    if (open === undefined) {
      open = { stream: this.#mask.stream(), last: chunk }
      this.#open.set(key, open)
    }
    return withBytes(chunk, open.stream.push(chunk.bytes))
  }

  /** What was held back when an iteration ends. */
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
