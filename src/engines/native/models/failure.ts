import { errorCode, errorText } from '../../../base/errors.ts'
import { oneLine, shorten } from '../../../base/shorten.ts'
import type { Failure } from '../../engine.ts'

/** Why a request failed, and whether and when it may be retried. */
export interface FailedRequest {
  readonly failure: Failure
  /** Set if a retry may help; `afterMs` is the delay that the server asks for. */
  readonly retry?: { readonly afterMs?: number }
}

/** The fields of the library's errors. */
interface ApiError {
  readonly statusCode?: number | undefined
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined
  readonly responseBody?: string | undefined
  readonly url?: string | undefined
  readonly message: string
}

/** The response is incomplete or not an answer at all, and must not be used. */
export class BrokenAnswer extends Error {}

const LONGEST_MESSAGE = 500

export const BROKE_OFF = 'the answer broke off'

/** The context is full: a retry cannot help. */
const CONTEXT_FULL =
  /prompt is too long|exceed context limit|context[ _]length|maximum context|context window|input token count.*exceeds|too many (?:input )?tokens|request_too_large/i
/** Authentication and billing failures are not retried. */
const AUTH = /credit balance|insufficient_quota|billing|api key not valid|invalid api key/i
/** Messages of temporary limits also mention billing; these never end on their own. */
const UNPAID = /insufficient_quota|credit balance/i
/** For errors in the middle of a stream, which have no status. */
const LIMITED = /rate_limit|resource_exhausted|too many requests/i
const TEMPORARY =
  /overloaded|internal server error|unavailable|timeout|timed out|connect|socket|network|broke off|fetch/i

export function classifyFailure(error: unknown, now: number): FailedRequest {
  const api = asApiError(error)
  const status = api?.statusCode ?? 0
  const message = describeError(api, error)
  const said = `${message} ${api?.responseBody ?? ''}`
  if (status === 413 || ([0, 400].includes(status) && CONTEXT_FULL.test(said))) {
    const text = `the model context is full: ${message}. Split the work into smaller prompts`
    return { failure: { kind: 'error', message: text, cause: 'context_full' } }
  }
  // A stream that broke off has status 200, which says nothing about its end.
  const hasStatus = status >= 300
  const isLimit = status === 429 || (!hasStatus && LIMITED.test(said))
  const isTemporary = status === 408 || status === 409 || status >= 500
  const isUnpaid = isLimit ? UNPAID.test(said) : !isTemporary && AUTH.test(said)
  if (status === UNKNOWN_MODEL)
    return { failure: { kind: 'auth_failed', message, cause: 'unknown_model' } }
  if (REFUSALS.includes(status) || isUnpaid) return { failure: { kind: 'auth_failed', message } }
  const afterMs = retryAfter(api, now)
  const retry = afterMs === undefined ? {} : { afterMs }
  if (isLimit) {
    const resetsAt = afterMs === undefined ? {} : { resetsAt: Math.ceil((now + afterMs) / 1000) }
    return { failure: { kind: 'rate_limited', message, ...resetsAt }, retry }
  }
  if (hasStatus ? isTemporary : isConnection(error, said))
    return { failure: { kind: 'overloaded', message }, retry }
  return { failure: { kind: 'error', message } }
}

const UNKNOWN_MODEL = 404
/** A retry does not help. */
const REFUSALS = [401, 402, 403, UNKNOWN_MODEL]

/** Whether the server could not be reached, or its response broke off. */
function isConnection(error: unknown, said: string): boolean {
  const hasBegun = asApiError(error)?.statusCode === 200
  const isNetwork = hasBegun || error instanceof TypeError || errorCode(error) !== undefined
  const isBroken = isUnreadable(error) || error instanceof BrokenAnswer
  return isNetwork || isBroken || TEMPORARY.test(said)
}

/** Names of the library's errors for unreadable responses. */
const BROKEN = ['AI_JSONParseError', 'AI_InvalidResponseDataError', 'AI_EmptyResponseBodyError']

/** Message of the library if the very first event is unreadable. */
const BROKEN_AT_ONCE = /^Expected a normalized \w+ stream error$/

function isUnreadable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return BROKEN.includes(error.name) || BROKEN_AT_ONCE.test(error.message)
}

function asApiError(error: unknown): ApiError | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const isApi = 'statusCode' in error || 'responseBody' in error
  return isApi ? (error as ApiError) : undefined
}

function describeError(api: ApiError | undefined, error: unknown): string {
  const hasBegun = api?.statusCode === 200
  const text = hasBegun || isUnreadable(error) ? BROKE_OFF : (messageIn(error) ?? errorText(error))
  const status = hasBegun || api?.statusCode === undefined ? '' : `${api.statusCode} `
  const line = oneLine(`${status}${text}`)
  return shorten(line === '' ? 'no answer' : line, LONGEST_MESSAGE) + addressIn(api)
}

/** Shown for connection and authentication failures, because the address may be wrong. */
function addressIn({ statusCode, url = '' }: Partial<ApiError> = {}): string {
  const isShown = statusCode === undefined || REFUSALS.includes(statusCode)
  const address = isShown ? URL.parse(url) : null
  return address === null ? '' : ` (${address.origin}${address.pathname})`
}

/** Errors in the middle of a stream are plain objects, not `Error`s. */
function messageIn(error: unknown): string | undefined {
  if (typeof error === 'string') return error
  if (typeof error !== 'object' || error === null) return undefined
  const inner = 'error' in error ? messageIn(error.error) : undefined
  const own = 'message' in error && typeof error.message === 'string' ? error.message : undefined
  return inner ?? own
}

/** The delay that the server asks for, in any of the usual headers or in the body. */
function retryAfter(api: ApiError | undefined, now: number): number | undefined {
  const headers = api?.responseHeaders ?? {}
  const ms = Number(headers['retry-after-ms'] ?? NaN)
  if (ms >= 0) return ms
  const text = headers['retry-after'] ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  if (!Number.isNaN(date)) return Math.max(0, date - now)
  const delay = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(api?.responseBody ?? '')?.[1]
  return delay === undefined ? undefined : Number(delay) * 1000
}
