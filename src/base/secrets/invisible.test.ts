import { expect, test } from 'bun:test'
import { Mask } from './mask.ts'

const SECRET = 'hunter2-hunter/2+x'
const TOKEN = 'ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5'
const mask = new Mask({ DB_PASSWORD: SECRET })

/** However the bytes are cut. */
function masked(bytes: Uint8Array): string {
  const shown = [1, 2, 3, 7, 1000].map((size) => {
    const stream = mask.stream()
    const parts: Uint8Array[] = []
    for (let at = 0; at < bytes.length; at += size)
      parts.push(Uint8Array.from(stream.push(bytes.subarray(at, at + size))))
    return Buffer.concat([...parts, stream.end()]).toString()
  })
  for (const each of shown) expect(each).toBe(shown[0]!)
  return shown[0]!
}

const between: readonly (readonly [string, string])[] = [
  ['NUL', '\0'],
  ['backspace', '\b'],
  ['a C1 control character', '\u0085'],
  ['zero-width space', '\u200b'],
  ['a word joiner', '\u2060'],
  ['a variation selector', '\ufe0f'],
  ['a tag character', '\u{e0020}'],
  ['a supplementary variation selector', '\u{e0100}'],
  ['a Hangul filler', '\u3164'],
  ['a byte order mark', '\ufeff'],
  ['a soft hyphen', '\u00ad'],
  ['a direction', '\u202e'],
  ['a line separator', '\u2028'],
  ['a colour', '\u001b[01;31m'],
  ['a colour and an erased line', '\u001b[m\u001b[K'],
  ['a colour in one byte', '\u009b1m'],
  ['a link', '\u001b]8;;https://example.com\u001b\\'],
  ['a title', '\u001b]0;title\u0007'],
  ['a character set', '\u001b(B'],
]

test.each(between)('%s does not hide a secret', (_, sign) => {
  for (const [secret, name] of [
    [SECRET, '[masked DB_PASSWORD]'],
    [TOKEN, '[masked]'],
  ] as const) {
    for (const at of [1, 5, 9]) {
      const text = `a ${secret.slice(0, at)}${sign}${secret.slice(at)} b`
      expect(masked(Buffer.from(text))).toBe(`a ${name}${sign} b`)
      expect(mask.text(text)).toBe(`a ${name}${sign} b`)
    }
    const all = Array.from(secret).join(sign)
    expect(masked(Buffer.from(`a ${all} b`))).toStartWith(`a ${name}`)
  }
})

test('UTF-16 does not hide a secret', () => {
  expect(masked(Buffer.from(`a ${SECRET} b`, 'utf16le'))).toContain('[masked DB_PASSWORD]')
})

test('a secret inside a control sequence is masked', () => {
  expect(masked(Buffer.from(`\u001b]0;${SECRET}\u0007 \u001b[1mx`))).toBe(
    '\u001b]0;[masked DB_PASSWORD]\u0007 \u001b[1mx',
  )
})

test.each([
  '\u001b[31mred\u001b[0m\n',
  'a\0b\u200bc 🧑‍🚀',
  '\u001b]0;never closed',
  '\u001b[',
  'C:\\u00',
  `${'\u001b[1mx\u001b[0m '.repeat(3000)}end`,
])('other text stays as it is: %#', (text) => {
  expect(masked(Buffer.from(text))).toBe(text)
})

test('cut characters stay as they are', () => {
  const bytes = Buffer.from([0xe2, 0x80, 0x0a, 0xef, 0xbb, 0x41, 0xc2, 0x1b])
  const stream = mask.stream()
  const parts = Array.from(bytes, (byte) => Uint8Array.from(stream.push(Buffer.from([byte]))))
  expect(Buffer.concat([...parts, stream.end()])).toEqual(bytes)
})
