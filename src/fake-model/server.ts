import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errorCode, UserError } from '../base/errors.ts'
import { randomLetters } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import { readModelRequest } from './model-request.ts'
import { makeVariables } from './environment.ts'
import type { AnsweredTurn } from './answered-turn.ts'
import { Playback } from './playback.ts'
import type { ScriptSource } from './script-schema.ts'
import { hasLimit, makeScript } from './script.ts'
import { sendError, sendJson, sendTurn } from './send.ts'

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
  { port = 0, onRequest, onAnswered, answered = [], remember = true }: Options = {},
): Promise<FakeModel> {
  const requests: RecordedRequest[] = []
  const playback = new Playback(makeScript(script))
  playback.restore(answered)
  const record = (request: RecordedRequest) => {
    if (remember) requests.push(request)
    onRequest?.(request)
  }
  const handler = new RequestHandler(playback, record, onAnswered)
  const server = createServer((request, response) => void handler.serve(request, response))
  await listen(server, port)
  const url = `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`
  return {
    url,
    env: makeVariables(url, {}, hasLimit(script)),
    requests,
    get unused() {
      return handler.playback.unused
    },
    stop: () => close(server),
  }
}

class RequestHandler {
  readonly playback: Playback
  readonly #record: (request: RecordedRequest) => void
  readonly #onAnswered: Options['onAnswered']
  /** Part of every id: a session may outlive its server, and ids must not repeat. */
  readonly #name = randomLetters(8)
  #answers = 0

  constructor(
    playback: Playback,
    record: (request: RecordedRequest) => void,
    onAnswered: Options['onAnswered'],
  ) {
    this.playback = playback
    this.#record = record
    this.#onAnswered = onAnswered
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await receive(request)
    if (received === undefined) return
    const route = `${received.method} ${received.path.split('?', 1)[0]}`
    if (route === 'POST /v1/messages') return this.#answer(received, response)
    this.#record({ at: now(), ...received })
    if (route === 'POST /v1/messages/count_tokens') {
      const length = JSON.stringify(received.body).length
      sendJson(response, 200, { input_tokens: Math.ceil(length / BYTES_PER_TOKEN) })
    } else if (HEALTH_CHECKS.has(route)) sendJson(response, 200, {})
    else sendError(response, { status: 404, message: `the scripted model has no ${route}` })
  }

  async #answer(received: Received, response: ServerResponse): Promise<void> {
    const request = readModelRequest(received.body, received.headers)
    if (request === undefined) {
      this.#record({ at: now(), ...received, stray: 'not a request of the Messages API' })
      return sendError(response, {
        status: 400,
        message: 'expected a body with "model" and "messages"',
      })
    }
    const match = this.playback.next(request)
    if (match.kind === 'none') {
      const { why, hint } = match
      this.#record({ at: now(), ...received, stray: why, ...(hint === undefined ? {} : { hint }) })
      const more = hint === undefined ? '' : `\n${hint}`
      const message = `The scripted model has no answer to this request: ${why}.${more}`
      return sendError(response, { status: NO_ANSWER, message })
    }
    this.#record({ at: now(), ...received, turn: match.place })
    this.#answers += 1
    await sendTurn(response, match.turn, request, `${this.#name}_${this.#answers}`)
    if (response.writableEnded || match.turn.drop === true) this.#onAnswered?.(match.answered)
  }
}

/** Gone: `claude` gives up at once, but retries a 400 five times. */
const NO_ANSWER = 410
const HEALTH_CHECKS = new Set(['HEAD /', 'GET /', 'HEAD /api/hello', 'GET /api/hello'])
/** A rough estimate is enough for a scripted model. */
const BYTES_PER_TOKEN = 4

function now(): string {
  return new Date().toISOString()
}

async function listen(server: Server, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, LOOPBACK, resolve)
  await promise.catch((error: unknown) => {
    if (errorCode(error) !== 'EADDRINUSE') throw error
    throw new UserError(`Port ${port} is in use.`, 'Leave out --port to use any free port.')
  })
}

async function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeAllConnections()
  await promise
}

/** Undefined if the client disconnected before its request was complete. */
async function receive(request: IncomingMessage): Promise<Received | undefined> {
  const bytes = await readAll(request).catch(() => undefined)
  if (bytes === undefined) return undefined
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: Object.fromEntries(Object.entries(request.headers).map(readHeader)),
    body: readBody(bytes.toString()),
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const SECRETS = new Set(['x-api-key', 'authorization', 'proxy-authorization', 'cookie'])

function readHeader([name, value]: [string, string | string[] | undefined]): [string, string] {
  return [name, SECRETS.has(name) ? '***' : String(value)]
}

function readBody(text: string): unknown {
  if (text === '') return null
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
