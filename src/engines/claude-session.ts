import type { Decoder } from './engine.ts'

/** Options of `claude` that say themselves which session it is; it takes no second one. */
const SESSION_OPTION = /^(?:-[rc]|--(?:resume|continue|session-id|fork-session|from-pr)(?:=|$))/

export function hasOwnSession(args: readonly string[]): boolean {
  return args.some((arg) => SESSION_OPTION.test(arg))
}

/** Old versions (1.0) take no file, and any may find no conversation in one. */
const REFUSAL = /^(?:Error: --resume requires a valid session ID|No conversation found)/m

/** What other versions may say of it, where they say nothing else and have not begun. */
const LIKELY_REFUSAL =
  /^(?!error: unknown option).*\b(?:resume|session|conversation|transcript)\b/im

/** It is said at once, if at all. */
const HEAD_BYTES = 4096

/** Notices that `claude` does not take the session it was given. */
export class RefusalWatch {
  #hasBegun = false
  #head = ''

  get isRefused(): boolean {
    return REFUSAL.test(this.#head) || (!this.#hasBegun && LIKELY_REFUSAL.test(this.#head))
  }

  over(stream: 'out' | 'err', decoder: Decoder | undefined): Decoder | undefined {
    if (decoder === undefined) return decoder
    return {
      push: (bytes) => {
        if (stream === 'out') this.#hasBegun = true
        else this.#take(bytes)
        return decoder.push(bytes)
      },
      end: () => decoder.end(),
      get isDoneIfSilent() {
        return decoder.isDoneIfSilent === true
      },
    }
  }

  #take(bytes: Uint8Array): void {
    const left = HEAD_BYTES - this.#head.length
    if (left > 0) this.#head += Buffer.from(bytes.subarray(0, left)).toString('latin1')
  }
}
