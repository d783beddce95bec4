import { expect, test } from 'bun:test'
import { describeOutcome } from './describe-outcome.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'

test('an error is shown on one line', () => {
  const words = describeOutcome({ kind: 'exited', code: 3, error: ' no\n\tkey ' })
  expect(words).toBe('exit 3: no key')
})

test('a long error is cut between words, so that no part of a key is left', () => {
  for (let before = 270; before < 310; before += 1) {
    const error = `refused ${'x'.repeat(before)} ${KEY} ${'y'.repeat(100)}`
    const words = describeOutcome({ kind: 'auth_failed', error })
    expect(words.replace(KEY, '')).toMatch(/^authentication failed: refused(?: x+)?(?: )?…$/)
  }
})
