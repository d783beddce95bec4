import type { Decoder } from '../engine.ts'

/** Options of `claude` that choose a session; it accepts only one of them. */
const SESSION_OPTION = /^(?:-[rc]|--(?:resume|continue|session-id|fork-session|from-pr)(?:=|$))/

export function hasOwnSession(args: readonly string[]): boolean {
  return args.some((arg) => SESSION_OPTION.test(arg))
}

/** Old versions (1.0) accept no file, and any version may find no conversation in one. */
const REFUSAL = /^(?:Error: --resume requires a valid session ID|No conversation found)/m

/** A likely refusal by other versions; it counts only if they printed no output. */
const LIKELY_REFUSAL =
  /^(?!error: unknown option).*\b(?:resume|session|conversation|transcript)\b/im

/** A refusal is the first thing on stderr. */
const HEAD_BYTES = 4096

/** Detects that `claude` refuses the session file. */
export class RefusalWatch {
  #hasBegun = false
  #head = ''

  get isRefused(): boolean {
    return REFUSAL.test(this.#head) || (!this.#hasBegun && LIKELY_REFUSAL.test(this.#head))
  }

  wrap(stream: 'out' | 'err', decoder: Decoder | undefined): Decoder | undefined {
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
