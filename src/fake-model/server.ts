import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errorCode, UserError } from '../base/errors.ts'
import { randomLetters } from '../base/ids.ts'
import { readAsk } from './ask.ts'
import { makeVariables } from './environment.ts'
import type { Mark } from './mark.ts'
import { Playback } from './playback.ts'
import { readRequest, type Received } from './received.ts'
import type { ScriptSource } from './script-schema.ts'
import { hasLimit, makeScript } from './script.ts'
import { sendError, sendJson, sendTurn } from './send.ts'

const LOOPBACK = '127.0.0.1'

/** A request, and how the script answered it. */
export interface RecordedRequest extends Received {
  readonly at: string
  /** Place of the turn that answers it, e.g. `conversations[0].turns[2]`. */
  readonly turn?: string
  /** Why no turn answers it, where one should. */
  readonly stray?: string
  /** What was asked, and what would match. */
  readonly hint?: string
}

interface Options {
  /** Absent or 0: one that is free. */
  readonly port?: number
  readonly onRequest?: (request: RecordedRequest) => void
  /** Is told of every turn that was answered whole. */
  readonly onAnswered?: (mark: Mark) => void
  /** Turns that an earlier server has answered. */
  readonly answered?: readonly Mark[]
  /** False: `requests` stays empty, for a server that runs for long. */
  readonly remember?: boolean
}

/** A Messages API on the loopback address that plays a script. */
export interface FakeModel {
  readonly url: string
  /** What leads `claude` here. */
  readonly env: Readonly<Record<string, string>>
  /** All that came, in order. */
  readonly requests: readonly RecordedRequest[]
  /** Places of the turns that have answered nothing. */
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
  const stage = new Stage(playback, record, onAnswered)
  const server = createServer((request, response) => void stage.serve(request, response))
  await listen(server, port)
  const url = `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`
  return {
    url,
    env: makeVariables(url, {}, hasLimit(script)),
    requests,
    get unused() {
      return stage.playback.unused
    },
    stop: () => close(server),
  }
}

class Stage {
  readonly playback: Playback
  readonly #record: (request: RecordedRequest) => void
  readonly #onAnswered: Options['onAnswered']
  /** Sessions may outlive a server, and two servers must not use the same id. */
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
    const received = await readRequest(request)
    if (received === undefined) return
    const route = `${received.method} ${received.path.split('?', 1)[0]}`
    if (route === 'POST /v1/messages') return this.#answer(received, response)
    this.#record({ at: now(), ...received })
    if (route === 'POST /v1/messages/count_tokens') {
      const length = JSON.stringify(received.body).length
      sendJson(response, 200, { input_tokens: Math.ceil(length / BYTES_PER_TOKEN) })
    } else if (HELLOS.has(route)) sendJson(response, 200, {})
    else sendError(response, { status: 404, message: `the scripted model has no ${route}` })
  }

  async #answer(received: Received, response: ServerResponse): Promise<void> {
    const ask = readAsk(received.body, received.headers)
    if (ask === undefined) {
      this.#record({ at: now(), ...received, stray: 'it is no request of the Messages API' })
      return sendError(response, { status: 400, message: 'a model and messages are expected' })
    }
    const cue = this.playback.next(ask)
    if (cue.kind === 'none') {
      const { why, hint } = cue
      this.#record({ at: now(), ...received, stray: why, ...(hint === undefined ? {} : { hint }) })
      const more = hint === undefined ? '' : `\n${hint}`
      const message = `The scripted model has no answer to this request: ${why}.${more}`
      return sendError(response, { status: USED_UP, message })
    }
    this.#record({ at: now(), ...received, turn: cue.place })
    this.#answers += 1
    await sendTurn(response, cue.turn, ask, `${this.#name}_${this.#answers}`)
    if (response.writableEnded || cue.turn.drop === true) this.#onAnswered?.(cue.mark)
  }
}

/** Gone: `claude` gives up at once, while it asks five times more after a 400. */
const USED_UP = 410
const HELLOS = new Set(['HEAD /', 'GET /', 'HEAD /api/hello', 'GET /api/hello'])
/** A guess that is good enough for a model that reads nothing. */
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
    throw new UserError(
      `Port ${port} is in use.`,
      'Leave --port out, and a free one is chosen for you.',
    )
  })
}

async function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeAllConnections()
  await promise
}
