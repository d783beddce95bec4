import { expect, test } from 'bun:test'
import { Mask } from '../../base/secrets/mask.ts'
import { FinalMessage, type FinalText } from './final-message.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'
const mask = new Mask({ DEPLOY_KEY: KEY })
const ports = { mask: mask.data.bind(mask), maskStream: () => mask.stream() }
const LIMIT = 200_000

function printed(text: string, size = 1 << 20): FinalText {
  const last = new FinalMessage(false, ports)
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += size)
    last.addOutput(bytes.subarray(from, from + size))
  return last.end()
}

function said(text: string): FinalText {
  const last = new FinalMessage(true, ports)
  last.take({ type: 'message', text })
  return last.end()
}

test('a short output is kept without colours and control characters', () => {
  expect(printed('\u001b[31mred\u001b[0m\r\n  two\u0000\n\n')).toEqual({ text: 'red\n  two' })
  expect(printed('é€😀'.repeat(40_000)).text).toHaveLength(160_000)
  expect(said(' all ')).toEqual({ text: 'all' })
})

test('a continued message belongs to the one before it', () => {
  const last = new FinalMessage(true, ports)
  last.take({ type: 'message', text: 'Earlier.' })
  last.take({ type: 'message', text: 'One, t' })
  last.take({ type: 'message', text: 'wo.', follows: '' })
  last.take({ type: 'message', text: 'Three.', follows: '\n' })
  expect(last.end()).toEqual({ text: 'One, two.\nThree.' })
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
    const after = said(`${'z'.repeat(shift)}${' y'.repeat(99_885)} ${KEY}${' x'.repeat(1000)}`)
    for (const { text } of [before, after]) expect(/Zq7|-tR|9.xW|2L|mN/.exec(text)).toBeNull()
    expect([before.cut, after.cut]).toEqual(['beginning', 'end'])
  }
  const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEpAIB\n'.repeat(300)}-----END PRIVATE KEY-----\n`
  const { text } = printed(`${key}${'red\n'.repeat(49_800)}`)
  expect(text).not.toContain('MIIEpAIB')
})

test('the end of one long word is kept, or the start of a message', () => {
  for (const { text, cut } of [printed('x'.repeat(1_000_000)), said('x'.repeat(1_000_000))]) {
    expect(text.length).toBeWithin(190_000, LIMIT + 1)
    expect(cut).toBeDefined()
  }
})
