import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { FORMS, sourceOf } from './forms.ts'
import { Mask } from './mask.ts'

const ENV = {
  A_KEY: 'Zq7-tR"9/xW+2LmN',
  B_KEY: 'Zq7-tR"9/xW+2LmN-and-more',
  C_TOKEN: 'Ünïcode-1234',
  D_SECRET: `sk-ant-api03-aBcDeFgHiJ${'kLmNoPqRsT'.repeat(40)}`,
  E_PASSWORD: 'aaaa1111aaaa',
  F_PASSWORD: 'one\ntwo\nThree',
  DATABASE_URL: 'postgres://me:aaaa1111@db/x',
}
const mask = new Mask(ENV)
const R = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5'
const VALUES = Object.values(ENV).flatMap((value) => [
  value,
  JSON.stringify(value),
  encodeURIComponent(value),
  btoa(unescape(encodeURIComponent(value))),
  Buffer.from(`x${value}`).toString('base64url'),
  Buffer.from(value).toString('hex'),
  Array.from(Buffer.from(value), (byte) => byte.toString(16).padStart(2, '0')).join(' '),
])
const SECRETS = [
  `sk-${R}`,
  `ghp_${R}`,
  `github_pat_${R}`,
  `glpat-${R}`,
  `xoxb-${R}`,
  'AKIAIOSFODNN7EXAMPLE',
  `AIza${R}`,
  `npm_${R}`,
  `SG.${R.slice(0, 22)}.${R}`,
  `eyJ${R}.eyJ${R}.${R.repeat(20)}`,
  'postgres://me:secret@db/x',
  '"redis:\\/\\/:secret@db"',
  'Authorization: Bearer x',
  `"authorization":"${R}"`,
  `Bearer ${R}`,
  'x-api-key: abcdefgh',
  'OPENAI_API_KEY=abcdefgh',
  'GITHUB_PAT=abcdefgh',
  'MY_TOKEN_2=abcdefgh',
  'PASSWORD_PROD=abcdefgh',
  '\\"MY_TOKEN\\":\\"abcdefgh\\"',
  `?access_token=${R}`,
  `-----BEGIN PRIVATE KEY-----\n${R}\n${R}\n-----END`,
]

const forms = FORMS.map((form) => new RegExp(sourceOf(form), 'y'))

/** The plain meaning of the forms, at each place. */
function maskForms(bytes: Uint8Array): string {
  const text = latin1(bytes)
  let shown = ''
  for (let at = 0; at < text.length;) {
    const match = forms.map((form) => matchAt(form, text, at)).find((each) => each !== null)
    shown += match ? `${match[1]}[masked]` : text.charAt(at)
    at += match?.[0].length ?? 1
  }
  return shown
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at
  return sticky.exec(text)
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length]
  let from = 0
  return ends
    .toSorted((a, b) => a - b)
    .map((end) => {
      const chunk = bytes.subarray(from, end)
      from = end
      return chunk
    })
}

function pass(chunks: readonly Uint8Array[], masked = mask): Buffer {
  const stream = masked.stream()
  return Buffer.concat([...chunks.map((chunk) => Buffer.from(stream.push(chunk))), stream.end()])
}

// What a terminal drops is in invisible.test.ts: bytes with some are searched twice.
const LEADS = [0xc0, 0xc1, 0xc2, 0xcd, 0xe1, 0xe2, 0xe3, 0xef, 0xf3]
const isSeen = (byte: number) => byte > 31 && byte < 0xf5 && ![127, ...LEADS].includes(byte)
const noise = fc.oneof(
  fc.string({ maxLength: 40 }).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => bytes.filter(isSeen)),
  fc
    .constantFrom(' ', '\n', '"', '\\', '=', ': ', 'task-', 'KEY=', 'Bearer ', 'eyJ', 'sk-', 'aaaa')
    .map((text) => Buffer.from(text)),
)
const planted = fc.constantFrom(...VALUES, ...SECRETS)
const cutOff = fc
  .tuple(planted, fc.nat())
  .map(([secret, length]) => secret.slice(0, length % secret.length))
const secrets = fc.oneof(planted, cutOff).map((secret) => Buffer.from(secret))
const mixed = fc
  .array(fc.oneof(noise, secrets), { maxLength: 12 })
  .map((parts) => Buffer.concat(parts))
const places = fc.array(fc.nat(), { maxLength: 20 })

test('however a stream is cut, the output is the same masked text', () => {
  fc.assert(
    fc.property(mixed, places, (bytes, cuts) => {
      expect(latin1(pass(cut(bytes, cuts)))).toBe(latin1(pass([bytes])))
    }),
    { numRuns: 3000 },
  )
})

test('forms are found where they begin', () => {
  const nameless = new Mask({})
  fc.assert(
    fc.property(mixed, places, (bytes, cuts) => {
      expect(latin1(pass(cut(bytes, cuts), nameless))).toBe(maskForms(bytes))
    }),
    { numRuns: 3000 },
  )
})

test.each([...VALUES, ...SECRETS].map((secret) => [secret] as const))(
  '%j is masked byte by byte',
  (secret) => {
    const bytes = Buffer.from(`x ${secret}\n`)
    const shown = pass(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))
    expect(latin1(shown)).toBe(latin1(pass([bytes])))
    expect(shown.toString()).toContain('[masked')
  },
)

test('bytes without secrets are returned as the same object', () => {
  const stream = mask.stream()
  for (let length = 0; length < 300; length += 1) {
    const bytes = Buffer.alloc(length + 2, 'binary\u0000\xff\xfe lines of words', 'latin1')
    bytes[length] = 0xff
    bytes[length + 1] = 10
    expect(stream.push(bytes)).toBe(bytes)
  }
  expect(stream.end()).toHaveLength(0)
})

test('a secret is found at every position of a large chunk, whatever its alignment', () => {
  const memory = Buffer.alloc(400, '.')
  for (let begin = 0; begin < 8; begin += 1) {
    for (let at = 0; at < 200; at += 1) {
      const bytes = memory.fill('.').subarray(begin, begin + 300)
      bytes.write('AKIAIOSFODNN7EXAMPLE', at)
      const shown = `${'.'.repeat(at)}[masked]${'.'.repeat(280 - at)}`
      expect(pass([bytes]).toString()).toBe(shown)
    }
  }
})

test.each([
  ['Continue? [y/N] ', ''],
  ['the tokens', ''],
  ['a task-', ''],
  ['say sk-', 'sk-'],
  ['a sk-abc', 'sk-abc'],
  ['TOKEN=abc', 'OKEN=abc'],
  [`sk-${R}`, ''],
])('of %j only %j is held back', (text, held) => {
  const nameless = new Mask({})
  const stream = nameless.stream()
  const shown = Buffer.from(stream.push(Buffer.from(text))).toString()
  expect(Buffer.from(stream.end()).toString()).toBe(held)
  expect(shown + held).toBe(nameless.text(text))
})

test('an endless secret is masked, and little is held back', () => {
  const stream = mask.stream()
  expect(Buffer.from(stream.push(Buffer.from(`sk-${R}`))).toString()).toBe('[masked]')
  for (let count = 0; count < 100; count += 1) {
    expect(stream.push(Buffer.alloc(10_000, 'x'))).toHaveLength(0)
  }
  expect(Buffer.from(stream.push(Buffer.from('x end\n'))).toString()).toBe(' end\n')
  let shown = 0
  for (let count = 1; count <= 2000; count += 1) {
    shown += stream.push(Buffer.from(count === 1 ? 'eyJ' : 'x')).length
    expect(count + 2 - shown).toBeLessThanOrEqual(300)
  }
})
