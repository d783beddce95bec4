import { expect, test } from 'bun:test'
import { Mask } from '../../base/secrets/mask.ts'
import { Tail } from './tail.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'

const mask = new Mask({ DEPLOY_KEY: KEY })

function tailOf(text: string, size = 1 << 20): string {
  const tail = new Tail(() => mask.stream())
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += size)
    tail.add('out', bytes.subarray(from, from + size))
  return tail.end()
}

test('a short output is kept without colours and control characters', () => {
  expect(tailOf('\u001b[31mred\u001b[0m\r\n  two\u0000\n\n')).toBe('red\n  two')
})

test.each([1, 7, 4000, 1 << 20])(
  'whole lines of a long output are kept, in chunks of %d',
  (size) => {
    const text = Array.from({ length: 2000 }, (_, index) => `line ${index}`).join('\n')
    const kept = tailOf(text, size)
    expect(text).toEndWith(`\n${kept}`)
    expect(kept.length).toBeWithin(3980, 4001)
  },
)

test.each([1, 7, 1 << 20])('no part of a key is left at the cut of a long line (%d)', (size) => {
  for (let behind = 3960; behind < 4000; behind += 1) {
    const kept = tailOf(`${'x'.repeat(100)} ${KEY}${'y'.repeat(behind)}\n`, size)
    expect(/Zq7|-tR|9.xW|2L|mN/.exec(kept)).toBeNull()
    expect(kept.length).toBeWithin(3990, 4002)
  }
})

test('the end of one long line is kept, and a private key is masked', () => {
  expect(tailOf('x'.repeat(5000))).toBe(`…${'x'.repeat(4000)}`)
  expect(tailOf(`${'€'.repeat(2000)}\n`)).toMatch(/^…€{1332,1333}$/)
  expect(tailOf(`${'x'.repeat(5000)}\nboom\n`)).toMatch(/^…x{3994}\nboom$/)
  const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEpAIB\n'.repeat(1000)}-----END PRIVATE KEY-----\n`
  expect(tailOf(`${key}red\n`)).toBe(
    '-----BEGIN PRIVATE KEY-----[masked]-----END PRIVATE KEY-----\nred',
  )
})

test('secrets are masked although two streams alternate', () => {
  const tail = new Tail(() => mask.stream())
  for (const letter of KEY) {
    tail.add('out', Buffer.from(letter))
    tail.add('err', Buffer.from(letter))
  }
  expect(tail.end()).toBe('[masked DEPLOY_KEY][masked DEPLOY_KEY]')
})
