import { expect, test } from 'bun:test'
import { LastWords, type Words } from './last-words.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'
const LIMIT = 200_000

function printed(text: string, size = 1 << 20): Words {
  const last = new LastWords(false)
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += size) last.hear(bytes.subarray(from, from + size))
  return last.words
}

function said(text: string): Words {
  const last = new LastWords(true)
  last.take({ type: 'message', text })
  return last.words
}

test('a short output is kept without colours and control characters', () => {
  expect(printed('\u001b[31mred\u001b[0m\r\n  two\u0000\n\n')).toEqual({ text: 'red\n  two' })
  expect(printed('é€😀'.repeat(40_000)).text).toHaveLength(160_000)
  expect(said(' all ')).toEqual({ text: 'all' })
})

test('a continued message belongs to the one before it', () => {
  const last = new LastWords(true)
  last.take({ type: 'message', text: 'Earlier.' })
  last.take({ type: 'message', text: 'One, t' })
  last.take({ type: 'message', text: 'wo.', follows: '' })
  last.take({ type: 'message', text: 'Three.', follows: '\n' })
  expect(last.words).toEqual({ text: 'One, two.\nThree.' })
})

test.each([1000, 65_536, 1 << 20])(
  'of a long one whole lines are kept, in chunks of %d',
  (size) => {
    const text = Array.from({ length: 200_000 }, (_, index) => `line ${index}`).join('\n')
    const { text: kept, cut } = printed(text, size)
    expect(cut).toBe('beginning')
    expect(text).toEndWith(`\n${kept}`)
    expect(kept.length).toBeWithin(LIMIT - 500, LIMIT + 1)
  },
)

test('no part of a key is left at the cut', () => {
  for (let shift = 0; shift < 30; shift += 1) {
    const before = printed(`${'x '.repeat(100)}${KEY} ${'y '.repeat(99_885)}${'z'.repeat(shift)}`)
    expect(before.text.replace(KEY, '')).toMatch(/^[xyz ]+$/)
    const after = said(`${'z'.repeat(shift)}${' y'.repeat(99_885)} ${KEY}${' x'.repeat(1000)}`)
    expect(after.text.replace(KEY, '')).toMatch(/^[xyz ]+$/)
    expect(after.cut).toBe('end')
  }
  const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEpAIB\n'.repeat(300)}-----END PRIVATE KEY-----\n`
  const { text } = printed(`${key}${'red\n'.repeat(49_800)}`)
  expect(text).toStartWith('-----END PRIVATE KEY-----\nred')
})

test('one long word is kept except for a part that may be half a key', () => {
  for (const words of [printed('x'.repeat(1_000_000)), said('x'.repeat(1_000_000))]) {
    expect(words.text.length).toBeWithin(190_000, LIMIT + 1)
    expect(words.cut).toBeDefined()
  }
})
