import { Transform, type TransformCallback } from 'node:stream'
import { callbackify } from 'node:util'
import { parseJSONRPCMessage, type JSONRPCMessage } from '@modelcontextprotocol/server'
import { tryOr } from '../base/errors.ts'
import { isObject, isTooDeep } from '../base/json.ts'

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

/** Each message of a batch gets an answer. */
const LONGEST_BATCH = 1000

/** The error response to an invalid message; the id is null if it is unknown. */
interface Refusal {
  readonly jsonrpc: '2.0'
  readonly id: string | number | null
  readonly error: { readonly code: number; readonly message: string }
}

/** The valid messages of a line, and error responses for the others. */
export interface FilteredLine {
  readonly messages: readonly JSONRPCMessage[]
  readonly refusals: readonly Refusal[]
}

const NOTHING: FilteredLine = { messages: [], refusals: [] }

/** Splits batches, which older versions of the protocol have, into messages. */
export function filterLine(line: string): FilteredLine {
  if (line.trim() === '') return NOTHING
  const value = parse(line)
  if (value === undefined)
    return refuse(null, PARSE_ERROR, 'Parse error: the line is not valid JSON.')
  if (!Array.isArray(value)) return filterOne(value)
  if (value.length === 0) return refuse(null, INVALID_REQUEST, 'Invalid request: an empty batch.')
  if (value.length > LONGEST_BATCH) {
    const message = `Invalid request: a batch of more than ${LONGEST_BATCH} messages.`
    return refuse(null, INVALID_REQUEST, message)
  }
  const filtered = value.map(filterOne)
  return {
    messages: filtered.flatMap(({ messages }) => messages),
    refusals: filtered.flatMap(({ refusals }) => refusals),
  }
}

function parse(line: string): unknown {
  return tryOr(undefined, () => JSON.parse(line) as unknown)
}

function filterOne(value: unknown): FilteredLine {
  // The SDK processes messages recursively.
  if (isTooDeep(value)) return refuseOne(value, 'Invalid request: nested too deeply.')
  try {
    return { messages: [parseJSONRPCMessage(value)], refusals: [] }
  } catch {
    return refuseOne(value, 'Invalid request.')
  }
}

/** Responses never get an answer. */
function refuseOne(value: unknown, message: string): FilteredLine {
  const isAnswer = isObject(value) && ('result' in value || 'error' in value)
  return isAnswer ? NOTHING : refuse(idOf(value), INVALID_REQUEST, message)
}

function refuse(id: Refusal['id'], code: number, message: string): FilteredLine {
  return { messages: [], refusals: [{ jsonrpc: '2.0', id, error: { code, message } }] }
}

function idOf(value: unknown): Refusal['id'] {
  const id = isObject(value) ? value['id'] : undefined
  return typeof id === 'string' || Number.isSafeInteger(id) ? (id as string | number) : null
}

interface FilterHandlers {
  /** The sender of an invalid message would otherwise wait forever. */
  refused(refusal: Refusal): void
  accepted(message: JSONRPCMessage): void
  /** Settles when the end of the input may be passed on. */
  ended(): Promise<void>
}

/** Passes on valid messages only. */
export class MessageFilter extends Transform {
  readonly #longest: number
  readonly #handlers: FilterHandlers
  #pending: Buffer[] = []
  #bytes = 0
  #isTooLong = false

  /** Longer lines are refused and skipped. */
  constructor(longest: number, handlers: FilterHandlers) {
    super()
    this.#longest = longest
    this.#handlers = handlers
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
    callbackify(() => this.#handlers.ended())(done)
  }

  #hold(part: Buffer): void {
    if (this.#isTooLong) return
    this.#pending.push(part)
    this.#bytes += part.length
    if (this.#bytes <= this.#longest) return
    this.#isTooLong = true
    this.#takeLine()
    const message = `Parse error: the line is longer than ${this.#longest} bytes. Send less at once, for example the path of a file.`
    this.#handlers.refused({ jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message } })
  }

  #takeLine(): Buffer {
    const line = Buffer.concat(this.#pending)
    this.#pending = []
    this.#bytes = 0
    return line
  }

  #endLine(): void {
    const line = this.#takeLine()
    if (!this.#isTooLong) this.#passOn(line)
    this.#isTooLong = false
  }

  #passOn(line: Buffer): void {
    const { messages, refusals } = filterLine(line.toString('utf8'))
    for (const message of messages) {
      this.#handlers.accepted(message)
      this.push(`${JSON.stringify(message)}\n`)
    }
    for (const refusal of refusals) this.#handlers.refused(refusal)
  }
}
