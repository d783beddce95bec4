import type { Failure } from './engine.ts'

/**
 * What the answers of an API mean: its status, and where that is not enough what must be said with it.
 * The first row that fits counts.
 */
const ANSWERS: readonly (readonly [Failure['kind'], status: RegExp, words?: RegExp])[] = [
  // Whoever has no right, or no money, will not get it by asking again; an unknown model stays so.
  ['auth_failed', /^40[123]$/],
  ['auth_failed', /^4\d\d$/, /credit balance|billing_error/i],
  ['auth_failed', /^404$/, /not_found_error|\bmodel\b/i],
  ['overloaded', /^(?:408|429|5\d\d)$/],
]

/** The kind of failure by which an API has answered; undefined where that says nothing about a next try. */
export function kindOfAnswer(status: number | string, words: string): Failure['kind'] | undefined {
  const code = String(status)
  return ANSWERS.find(([, of, said]) => of.test(code) && said?.test(words) !== false)?.[0]
}
