import type { IncomingMessage } from 'node:http'
import { parseJson } from '../base/json.ts'

/** A request as it came, but for its secrets. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The value of a JSON body, the text of any other, null where there is none. */
  readonly body: unknown
}

/** Undefined where the client went away before it had said all. */
export async function readRequest(request: IncomingMessage): Promise<Received | undefined> {
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
