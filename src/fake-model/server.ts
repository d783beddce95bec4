import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError, errorCode, tryOr } from '../base/errors.ts'
import { randomLetters } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import { makeVariables } from './environment.ts'
import { makeErrorBody, makeLimitError, makeMessage, renderStream } from './message.ts'
import { readModelRequest, type ModelRequest } from './model-request.ts'
import { Playback, type AnsweredTurn } from './playback.ts'
import type { ErrorTurn, ScriptSource, ScriptedTurn } from './script-schema.ts'
import { hasLimit, makeScript } from './script.ts'

const LOOPBACK = '127.0.0.1'

/** A request as it arrived, with its secrets replaced. */
interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The value of a JSON body, the text of any other, null if there is none. */
  readonly body: unknown
}

/** A request, and how the script answered it. */
export interface RecordedRequest extends ReceivedRequest {
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
  const server = createServer((request, response) => void handler.serve(request, response))
  server.listen(port, LOOPBACK)
  await once(server, 'listening').catch((error: unknown) => {
    if (errorCode(error) !== 'EADDRINUSE') throw error
    throw new UserError(`Port ${port} is in use.`, 'Leave out --port to use any free port.')
  })
  const url = `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`
  return {
    url,
    env: makeVariables(url, {}, hasLimit(script)),
    requests: handler.requests,
    get unused() {
      return playback.unused
    },
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
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

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await receive(request)
    // The client has disconnected.
    if (received === undefined) return
    const route = `${received.method} ${received.path.split('?', 1)[0]}`
    if (route === 'POST /v1/messages') return this.#answer(received, response)
    this.#record(received)
    if (route === 'POST /v1/messages/count_tokens') {
      const { length } = JSON.stringify(received.body)
      sendJson(response, 200, { input_tokens: Math.ceil(length / BYTES_PER_TOKEN) })
    } else if (HEALTH_CHECKS.has(route)) sendJson(response, 200, {})
    else
      sendError(response, {
        status: 404,
        message: `the scripted model does not implement ${route}`,
      })
  }

  async #answer(received: ReceivedRequest, response: ServerResponse): Promise<void> {
    const request = readModelRequest(received.body, received.headers)
    if (request === undefined) {
      this.#record(received, { stray: 'not a Messages API request' })
      const message = 'expected a body with "model" and "messages"'
      return sendError(response, { status: 400, message })
    }
    const match = this.#playback.next(request)
    if (match.kind === 'none') {
      const { why, hint } = match
      this.#record(received, { stray: why, ...(hint === undefined ? {} : { hint }) })
      const more = hint === undefined ? '' : `\n${hint}`
      const message = `The scripted model has no answer to this request: ${why}.${more}`
      return sendError(response, { status: NO_ANSWER, message })
    }
    this.#record(received, { turn: match.place })
    this.#answers += 1
    await sendTurn(response, match.turn, request, `${this.#name}_${this.#answers}`)
    if (response.writableEnded || match.turn.drop === true)
      this.#options.onAnswered?.(match.answered)
  }

  #record(
    received: ReceivedRequest,
    how: Pick<RecordedRequest, 'turn' | 'stray' | 'hint'> = {},
  ): void {
    const { onRequest, remember = true } = this.#options
    const request = { at: new Date().toISOString(), ...received, ...how }
    if (remember) this.requests.push(request)
    onRequest?.(request)
  }
}

async function sendTurn(
  response: ServerResponse,
  turn: ScriptedTurn,
  { model, isStream }: ModelRequest,
  id: string,
): Promise<void> {
  const { error, limit, delayMs = 0, chunkDelayMs = 0, drop = false } = turn
  await pause(response, delayMs)
  const refusal = limit === undefined ? error : makeLimitError(limit)
  if (refusal !== undefined)
    return sendError(response, { ...refusal, headers: { ...turn.headers, ...refusal.headers } })
  const message = makeMessage(turn, model, id)
  const chunks = isStream ? renderStream(message) : [JSON.stringify(message)]
  const sent = drop ? chunks.slice(0, Math.floor(chunks.length / 2)) : chunks
  const type = isStream ? 'text/event-stream' : 'application/json'
  response.writeHead(200, { 'content-type': type, 'request-id': `req_${id}`, ...turn.headers })
  for (const [index, chunk] of (chunkDelayMs > 0 ? sent : [sent.join('')]).entries()) {
    if (index > 0) await pause(response, chunkDelayMs)
    if (response.destroyed) return
    await new Promise((resolve) => response.write(chunk, resolve))
  }
  if (drop) response.socket?.destroy()
  else response.end()
}

function sendError(response: ServerResponse, error: ErrorTurn): void {
  sendJson(response, error.status, makeErrorBody(error), error.headers)
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

/** Waits until the time is over or the client disconnects. */
async function pause(response: ServerResponse, ms: number): Promise<void> {
  if (ms === 0 || response.destroyed) return
  const over = new AbortController()
  const { signal } = over
  const waits = [sleep(ms, undefined, { signal }), once(response, 'close', { signal })]
  await Promise.race(waits)
  over.abort()
  await Promise.allSettled(waits)
}

const SECRETS = new Set(['x-api-key', 'authorization', 'proxy-authorization', 'cookie'])

/** Undefined if the client disconnected before its request was complete. */
async function receive(request: IncomingMessage): Promise<ReceivedRequest | undefined> {
  const content = await text(request).catch(() => undefined)
  if (content === undefined) return undefined
  const { method = '', url: path = '' } = request
  const headers = Object.entries(request.headers).map(([name, value]) => {
    return [name, SECRETS.has(name) ? '***' : String(value)] as const
  })
  return { method, path, headers: Object.fromEntries(headers), body: parseBody(content) }
}

function parseBody(content: string): unknown {
  if (content === '') return null
  return tryOr(content, () => parseJson(content))
}
