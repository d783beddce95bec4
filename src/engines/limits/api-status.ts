import type { Failure } from '../engine.ts'

/** The meaning of an API error, by its status and, if given, a pattern for its text; the first match wins. */
const STATUS_KINDS: readonly (readonly [Failure['kind'], status: RegExp, words?: RegExp])[] = [
  // Not retried: authentication, missing credit, unknown models.
  ['auth_failed', /^40[123]$/],
  ['auth_failed', /^4\d\d$/, /credit balance|billing_error/i],
  ['auth_failed', /^404$/, /not_found_error|\bmodel\b/i],
  ['overloaded', /^(?:408|429|5\d\d)$/],
]

/** Undefined if the status does not say whether a retry may help. */
export function failureKindOf(status: number | string, words: string): Failure['kind'] | undefined {
  const code = String(status)
  return STATUS_KINDS.find(([, of, said]) => of.test(code) && said?.test(words) !== false)?.[0]
}
