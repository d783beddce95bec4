import { Transform, type TransformCallback } from 'node:stream'
import { callbackify } from 'node:util'
import { parseJSONRPCMessage, type JSONRPCMessage } from '@modelcontextprotocol/server'
import { isTooDeep } from '../base/json.ts'

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

/** Each message of a batch is answered. */
const LONGEST_BATCH = 1000

/** What is said to who has sent no message; the id is null where nobody can know it. */
interface Refusal {
  readonly jsonrpc: '2.0'
  readonly id: string | number | null
  readonly error: { readonly code: number; readonly message: string }
}

/** What becomes of a line: messages that are handed on, and refusals. */
export interface Sifted {
  readonly messages: readonly JSONRPCMessage[]
  readonly refusals: readonly Refusal[]
}

const NOTHING: Sifted = { messages: [], refusals: [] }

/** Of a batch, as older versions of the protocol have it, each is a message of its own. */
export function sift(line: string): Sifted {
  if (line.trim() === '') return NOTHING
  const value = parse(line)
  if (value === undefined) return refuse(null, PARSE_ERROR, 'Parse error: this line is no JSON.')
  if (!Array.isArray(value)) return siftOne(value)
  if (value.length === 0) return refuse(null, INVALID_REQUEST, 'Invalid request: an empty batch.')
  if (value.length > LONGEST_BATCH) {
    const message = `Invalid request: a batch of more than ${LONGEST_BATCH} messages.`
    return refuse(null, INVALID_REQUEST, message)
  }
  const sifted = value.map(siftOne)
  return {
    messages: sifted.flatMap(({ messages }) => messages),
    refusals: sifted.flatMap(({ refusals }) => refusals),
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}

function siftOne(value: unknown): Sifted {
  // What handles it further walks through it by recursion.
  if (isTooDeep(value)) return refuseOne(value, 'Invalid request: nested too deeply.')
  try {
    return { messages: [parseJSONRPCMessage(value)], refusals: [] }
  } catch {
    return refuseOne(value, 'Invalid request.')
  }
}

/** An answer is never answered. */
function refuseOne(value: unknown, message: string): Sifted {
  const isAnswer = isObject(value) && ('result' in value || 'error' in value)
  return isAnswer ? NOTHING : refuse(idOf(value), INVALID_REQUEST, message)
}

function refuse(id: Refusal['id'], code: number, message: string): Sifted {
  return { messages: [], refusals: [{ jsonrpc: '2.0', id, error: { code, message } }] }
}

function idOf(value: unknown): Refusal['id'] {
  const id = isObject(value) ? value['id'] : undefined
  return typeof id === 'string' || Number.isSafeInteger(id) ? (id as string | number) : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Whom a sieve tells what it finds. */
interface Sifting {
  /** What is no message: its sender would wait for ever. */
  refused(refusal: Refusal): void
  handedOn(message: JSONRPCMessage): void
  /** Settles when the end may be passed on. */
  ended(): Promise<void>
}

/** Hands on the lines that are messages. */
export class Sieve extends Transform {
  readonly #longest: number
  readonly #sifting: Sifting
  #pending: Buffer[] = []
  #bytes = 0
  #isTooLong = false

  /** A line that is longer is refused, and passed over to its end. */
  constructor(longest: number, sifting: Sifting) {
    super()
    this.#longest = longest
    this.#sifting = sifting
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#hold(chunk.subarray(from, end))
      this.#endLine()
      from = end + 1
    }
    this.#hold(chunk.subarray(from))
    done()
  }

  override _flush(done: TransformCallback): void {
    this.#endLine()
    callbackify(() => this.#sifting.ended())(done)
  }

  #hold(part: Buffer): void {
    if (this.#isTooLong) return
    this.#pending.push(part)
    this.#bytes += part.length
    if (this.#bytes <= this.#longest) return
    this.#isTooLong = true
    this.#takeLine()
    const message = `Parse error: this line is longer than ${this.#longest} bytes. Send less at once, e.g. the path of a file.`
    this.#sifting.refused({ jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message } })
  }

  #takeLine(): Buffer {
    const line = Buffer.concat(this.#pending)
    this.#pending = []
    this.#bytes = 0
    return line
  }

  #endLine(): void {
    const line = this.#takeLine()
    if (!this.#isTooLong) this.#handOn(line)
    this.#isTooLong = false
  }

  #handOn(line: Buffer): void {
    const { messages, refusals } = sift(line.toString('utf8'))
    for (const message of messages) {
      this.#sifting.handedOn(message)
      this.push(`${JSON.stringify(message)}\n`)
    }
    for (const refusal of refusals) this.#sifting.refused(refusal)
  }
}
