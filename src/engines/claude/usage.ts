import { asNumber, asObject } from './event.ts'
import type { Tokens } from '../engine.ts'

const NONE: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** Sums up usage while messages arrive. One message may arrive in pieces that repeat its usage. */
export class RunningUsage {
  readonly #byMessage = new Map<string, Tokens>()
  #total = NONE

  /** The new total; undefined if nothing changed. */
  take(id: unknown, value: unknown): Tokens | undefined {
    const usage = asObject(value)
    if (usage === undefined || typeof id !== 'string') return undefined
    const tokens = {
      input: asNumber(usage['input_tokens']),
      output: asNumber(usage['output_tokens']),
      cacheRead: asNumber(usage['cache_read_input_tokens']),
      cacheWrite: asNumber(usage['cache_creation_input_tokens']),
    }
    const before = this.#byMessage.get(id) ?? NONE
    if (isSame(tokens, before)) return undefined
    this.#byMessage.set(id, tokens)
    this.#total = {
      input: this.#total.input + tokens.input - before.input,
      output: this.#total.output + tokens.output - before.output,
      cacheRead: this.#total.cacheRead + tokens.cacheRead - before.cacheRead,
      cacheWrite: this.#total.cacheWrite + tokens.cacheWrite - before.cacheWrite,
    }
    return this.#total
  }
}

function isSame(one: Tokens, other: Tokens): boolean {
  return (
    one.input === other.input &&
    one.output === other.output &&
    one.cacheRead === other.cacheRead &&
    one.cacheWrite === other.cacheWrite
  )
}
