import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseDuration } from '../base/durations.ts'
import type { ModelRequest } from './model-request.ts'
import { makeErrorBody, makeMessage } from './message.ts'
import type { ErrorTurn, Turn } from './script-schema.ts'
import { renderStream } from './sse.ts'

/** Answers a request with a turn; `id` is unique within the server. */
export async function sendTurn(
  response: ServerResponse,
  turn: Turn,
  { model, isStream }: ModelRequest,
  id: string,
): Promise<void> {
  await pause(response, turn.delayMs)
  if (turn.error !== undefined) {
    const headers = { ...turn.headers, ...turn.error.headers }
    return sendError(response, { ...turn.error, headers })
  }
  if (turn.limit !== undefined) return sendError(response, planLimit(turn.limit))
  const message = makeMessage(turn, model, id)
  const chunks = isStream ? renderStream(message) : [JSON.stringify(message)]
  const shown = turn.drop ? chunks.slice(0, Math.floor(chunks.length / 2)) : chunks
  response.writeHead(200, {
    'content-type': isStream ? 'text/event-stream' : 'application/json',
    'request-id': `req_${id}`,
    ...turn.headers,
  })
  await write(response, turn.chunkDelayMs ? shown : [shown.join('')], turn.chunkDelayMs)
  if (turn.drop) response.socket?.destroy()
  else response.end()
}

const FIVE_HOURS_MS = 5 * 3_600_000

/** The error of a subscription that has reached its usage limit. */
function planLimit(resetsIn: string): ErrorTurn {
  const ms = parseDuration(resetsIn, 'limit')
  return {
    status: 429,
    message: 'This request would exceed the limit of your account.',
    headers: {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(Math.ceil((Date.now() + ms) / 1000)),
      'anthropic-ratelimit-unified-representative-claim':
        ms <= FIVE_HOURS_MS ? 'five_hour' : 'seven_day',
      'retry-after': String(Math.ceil(ms / 1000)),
    },
  }
}

export function sendError(response: ServerResponse, error: ErrorTurn): void {
  sendJson(response, error.status, makeErrorBody(error), error.headers)
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

async function write(response: ServerResponse, chunks: string[], delayMs?: number): Promise<void> {
  for (const [index, chunk] of chunks.entries()) {
    if (index > 0) await pause(response, delayMs)
    if (response.destroyed) return
    await new Promise((resolve) => response.write(chunk, resolve))
  }
}

/** Waits until the time is over or the client disconnects. */
async function pause(response: ServerResponse, delayMs = 0): Promise<void> {
  if (delayMs === 0 || response.destroyed) return
  const gone = new AbortController()
  const onClose = () => gone.abort()
  response.once('close', onClose)
  await sleep(delayMs, undefined, { signal: gone.signal }).catch(() => {})
  response.off('close', onClose)
}
