import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, UserError } from '../base/errors.ts'
import { randomLetters } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import { makeVariables } from './environment.ts'
import { makeErrorBody, makeLimitError, makeMessage, renderStream } from './message.ts'
import { readModelRequest, type ModelRequest } from './model-request.ts'
import { Playback, type AnsweredTurn } from './playback.ts'
import type { ErrorTurn, ScriptSource, Turn } from './script-schema.ts'
import { hasLimit, makeScript } from './script.ts'

const LOOPBACK = '127.0.0.1'

/** A request as it arrived, with its secrets replaced. */
interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The value of a JSON body, the text of any other, null if there is none. */
  readonly body: unknown
}

/** A request, and how the script answered it. */
export interface RecordedRequest extends Received {
  readonly at: string
  /** Place of the turn that answers it, e.g. `conversations[0].turns[2]`. */
  readonly turn?: string
  /** Why no turn answers it although one should. */
  readonly stray?: string
  /** The request in short, and a pattern that would match it. */
  readonly hint?: string
}

interface Options {
  /** Absent or 0: any free port. */
  readonly port?: number
  readonly onRequest?: (request: RecordedRequest) => void
  /** Called for every turn that was sent completely. */
  readonly onAnswered?: (answered: AnsweredTurn) => void
  /** Turns that an earlier server has already sent. */
  readonly answered?: readonly AnsweredTurn[]
  /** False keeps `requests` empty, for servers that run for a long time. */
  readonly remember?: boolean
}

/** A Messages API on the loopback address that plays a script. */
export interface FakeModel {
  readonly url: string
  /** Variables that point `claude` here. */
  readonly env: Readonly<Record<string, string>>
  readonly requests: readonly RecordedRequest[]
  /** Places of the turns that answered no request. */
  readonly unused: readonly string[]
  stop(): Promise<void>
}

export async function startFakeModel(
  script: ScriptSource,
  options: Options = {},
): Promise<FakeModel> {
  const { port = 0, answered = [] } = options
  const playback = new Playback(makeScript(script), answered)
  const handler = new RequestHandler(playback, options)
  const server = listen(port, (request) => handler.serve(request))
  const url = server.url.origin
  return {
    url,
    env: makeVariables(url, {}, hasLimit(script)),
    requests: handler.requests,
    get unused() {
      return playback.unused
    },
    stop: () => server.stop(true),
  }
}

function listen(port: number, fetch: (request: Request) => Promise<Response>) {
  try {
    return Bun.serve({ hostname: LOOPBACK, port, idleTimeout: 0, fetch })
  } catch (error) {
    if (errorCode(error) !== 'EADDRINUSE') throw error
    throw new UserError(`Port ${port} is in use.`, 'Leave out --port to use any free port.')
  }
}

/** Gone: `claude` gives up at once, but retries a 400 five times. */
const NO_ANSWER = 410
const HEALTH_CHECKS = new Set(['HEAD /', 'GET /', 'HEAD /api/hello', 'GET /api/hello'])
/** A rough estimate is enough for a scripted model. */
const BYTES_PER_TOKEN = 4

class RequestHandler {
  readonly requests: RecordedRequest[] = []
  readonly #playback: Playback
  readonly #options: Options
  /** Part of every id: a session may outlive its server, and ids must not repeat. */
  readonly #name = randomLetters(8)
  #answers = 0

  constructor(playback: Playback, options: Options) {
    this.#playback = playback
    this.#options = options
  }

  async serve(request: Request): Promise<Response> {
    const received = await receive(request)
    // The client has disconnected.
    if (received === undefined) return new Response()
    const route = `${received.method} ${received.path.split('?', 1)[0]}`
    if (route === 'POST /v1/messages') return this.#answer(received, request.signal)
    this.#record(received)
    if (route === 'POST /v1/messages/count_tokens') {
      const { length } = JSON.stringify(received.body)
      return Response.json({ input_tokens: Math.ceil(length / BYTES_PER_TOKEN) })
    }
    if (HEALTH_CHECKS.has(route)) return Response.json({})
    return refuse({ status: 404, message: `the scripted model has no ${route}` })
  }

  async #answer(received: Received, gone: AbortSignal): Promise<Response> {
    const request = readModelRequest(received.body, received.headers)
    if (request === undefined) {
      this.#record(received, { stray: 'not a request of the Messages API' })
      return refuse({ status: 400, message: 'expected a body with "model" and "messages"' })
    }
    const match = this.#playback.next(request)
    if (match.kind === 'none') {
      const { why, hint } = match
      this.#record(received, { stray: why, ...(hint === undefined ? {} : { hint }) })
      const more = hint === undefined ? '' : `\n${hint}`
      const message = `The scripted model has no answer to this request: ${why}.${more}`
      return refuse({ status: NO_ANSWER, message })
    }
    this.#record(received, { turn: match.place })
    this.#answers += 1
    const id = `${this.#name}_${this.#answers}`
    return playTurn(match.turn, request, id, gone, () => this.#options.onAnswered?.(match.answered))
  }

  #record(received: Received, how: Pick<RecordedRequest, 'turn' | 'stray' | 'hint'> = {}): void {
    const { onRequest, remember = true } = this.#options
    const request = { at: new Date().toISOString(), ...received, ...how }
    if (remember) this.requests.push(request)
    onRequest?.(request)
  }
}

/** Answers a request with a turn; `onSent` is called unless the client disconnects before the end. */
async function playTurn(
  turn: Turn,
  { model, isStream }: ModelRequest,
  id: string,
  gone: AbortSignal,
  onSent: () => void,
): Promise<Response> {
  const { error, limit, delayMs = 0, chunkDelayMs = 0, drop = false } = turn
  if (!(await pause(delayMs, gone))) return new Response()
  const refusal = limit === undefined ? error : makeLimitError(limit)
  if (refusal !== undefined) {
    onSent()
    return refuse({ ...refusal, headers: { ...turn.headers, ...refusal.headers } })
  }
  const message = makeMessage(turn, model, id)
  const chunks = isStream ? renderStream(message) : [JSON.stringify(message)]
  const sent = drop ? chunks.slice(0, Math.floor(chunks.length / 2)) : chunks
  const body = new ReadableStream({
    async start(controller) {
      for (const [index, chunk] of sent.entries()) {
        if (index > 0 && !(await pause(chunkDelayMs, gone))) return
        controller.enqueue(chunk)
      }
      if (drop) controller.error()
      else controller.close()
      onSent()
    },
  })
  const type = isStream ? 'text/event-stream' : 'application/json'
  const headers = { 'content-type': type, 'request-id': `req_${id}`, ...turn.headers }
  return new Response(body, { headers })
}

function refuse(error: ErrorTurn): Response {
  const { status, headers = {} } = error
  return Response.json(makeErrorBody(error), { status, headers })
}

/** Waits; returns false if the client disconnects. */
async function pause(ms: number, gone: AbortSignal): Promise<boolean> {
  if (ms > 0) await sleep(ms, undefined, { signal: gone }).catch(() => undefined)
  return !gone.aborted
}

const SECRETS = new Set(['x-api-key', 'authorization', 'proxy-authorization', 'cookie'])

/** Undefined if the client disconnected before its request was complete. */
async function receive(request: Request): Promise<Received | undefined> {
  const text = await request.text().catch(() => undefined)
  if (text === undefined) return undefined
  const { pathname, search } = new URL(request.url)
  const headers = Array.from(request.headers, ([name, value]) => {
    return [name, SECRETS.has(name) ? '***' : value] as const
  })
  const { method } = request
  return { method, path: pathname + search, headers: Object.fromEntries(headers), body: read(text) }
}

function read(text: string): unknown {
  if (text === '') return null
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
