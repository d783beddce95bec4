import { expect, test } from 'bun:test'
import { outcomeWords } from './outcome-words.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'

test('words are one line', () => {
  const words = outcomeWords({ kind: 'exited', code: 3, error: ' no\n\tkey ' })
  expect(words).toBe('exit 3: no key')
})

test('long words are cut between two of them, so that no part of a key is left', () => {
  for (let before = 270; before < 310; before += 1) {
    const error = `refused ${'x'.repeat(before)} ${KEY} ${'y'.repeat(100)}`
    const words = outcomeWords({ kind: 'auth_failed', error })
    expect(words.replace(KEY, '')).toMatch(/^not allowed: refused(?: x+)?(?: )?…$/)
  }
})
