import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Mask } from './mask.ts'
import { isSecretValue } from './names.ts'

const charactersOf = (text: string) => fc.constantFrom(...Array.from(text))

/** Values with all characters that programs escape, except values that look escaped themselves. */
const values = fc
  .oneof(
    fc.string({ minLength: 8, maxLength: 60, unit: charactersOf('aZ09bY18-_./+=') }),
    fc.string({ minLength: 8, maxLength: 40, unit: 'grapheme-ascii' }),
    fc.string({ minLength: 8, maxLength: 30, unit: charactersOf('aZ09 "\\%&<>/\'+é€😀ü') }),
  )
  .map((text) => text.trim())
  .filter((text) => isSecretValue(text) && !/[\\%]$|%2|\\\d/.test(text))

const hex = (code: number, width: number) => code.toString(16).padStart(width, '0')
const bytesOf = (text: string) => [...Buffer.from(text)]

type Escape = (character: string) => string

const ENTITIES: Readonly<Record<string, string>> = { '"': 'quot', '&': 'amp', '<': 'lt', '>': 'gt' }

const ESCAPES: readonly Escape[] = [
  (character) => character,
  (character) =>
    character
      .split('')
      .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
      .join(''),
  (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  (character) =>
    bytesOf(character)
      .map((byte) => `\\x${hex(byte, 2)}`)
      .join(''),
  (character) =>
    bytesOf(character)
      .map((byte) => `%${hex(byte, 2)}`)
      .join(''),
  (character) =>
    bytesOf(character)
      .map((byte) => `%${hex(byte, 2).toUpperCase()}`)
      .join(''),
  (character) =>
    bytesOf(character)
      .map((byte) => `%25${hex(byte, 2)}`)
      .join(''),
  (character) =>
    bytesOf(character)
      .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
      .join(''),
  (character) => `&#${character.codePointAt(0)};`,
  (character) => `&#x${hex(character.codePointAt(0)!, 4)};`,
  (character) => (ENTITIES[character] === undefined ? character : `&${ENTITIES[character]};`),
  (character) => (/[A-Za-z0-9]/.test(character) ? character : `\\${character}`),
  (character) => JSON.stringify(character).slice(1, -1),
  (character) => (character === "'" ? `'\\''` : character),
  (character) => (character === "'" ? `'"'"'` : character),
  (character) => (/['"]/.test(character) ? character + character : character),
  (character) => JSON.stringify(JSON.stringify(character).slice(1, -1)).slice(1, -1),
]

/** A value in which each character is escaped in some way, or not at all. */
const escaped = fc
  .tuple(values, fc.array(fc.nat(ESCAPES.length * 2), { minLength: 60, maxLength: 60 }))
  .map(([secret, ways]) => ({
    secret,
    text: Array.from(secret, (character, index) =>
      (ESCAPES[ways[index % ways.length]!] ?? ESCAPES[0]!)(character),
    ).join(''),
  }))

/** A value in which the same characters are escaped everywhere. */
const escapedAlike = fc
  .tuple(values, fc.constantFrom(...ESCAPES), fc.constantFrom(/./u, /\W/u, /[^A-Za-z]/u, /[\\"/+]/))
  .map(([secret, escape, which]) => ({
    secret,
    text: Array.from(secret, (each) => (which.test(each) ? escape(each) : each)).join(''),
  }))

const LINE_ENDS = ['\n', '\r\n', '\\n', '\\r\\n', '\\\\n', '\n  ', '%0A']

function wrap(text: string, columns: number, end: string): string {
  return (text.match(new RegExp(`.{1,${columns}}`, 'gsu')) ?? []).join(end)
}

const lineEnd = fc.constantFrom(...LINE_ENDS)
const columns = fc.integer({ min: 20, max: 80 })
const beside = fc.string({ maxLength: 40 })

const base64 = fc
  .tuple(
    values,
    beside,
    beside,
    columns,
    lineEnd,
    fc.constantFrom('base64' as const, 'base64url' as const),
  )
  .map(([secret, before, after, width, end, alphabet]) => ({
    secret,
    write: (bytes: Uint8Array) => {
      const all = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])
      return wrap(all.toString(alphabet), width, end)
    },
  }))

const wrapped = fc
  .tuple(values, fc.nat(80), columns, lineEnd)
  .filter(([secret]) => /^[^\s\\%]+$/.test(secret))
  .map(([secret, before, width, end]) => ({
    secret,
    text: wrap('.'.repeat(before) + secret, width, end),
  }))

type Dump = (bytes: Uint8Array) => string

function lines(
  bytes: Uint8Array,
  size: number,
  line: (row: Uint8Array, at: number) => string,
): string {
  const rows: string[] = []
  for (let at = 0; at < bytes.length; at += size) rows.push(line(bytes.subarray(at, at + size), at))
  return rows.join('\n')
}

const writeEach = (row: Uint8Array, write: (byte: number) => string) => Array.from(row, write)
const printable = (row: Uint8Array) =>
  writeEach(row, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')
const words = (row: Uint8Array, write: (word: number) => string) =>
  Array.from({ length: Math.ceil(row.length / 2) }, (_, index) =>
    write(row[index * 2]! | ((row[index * 2 + 1] ?? 0) << 8)),
  )
const octal = (value: number, width: number) => value.toString(8).padStart(width, '0')

const DUMPS: Readonly<Record<string, Dump>> = {
  'od -An -tx1': (bytes) =>
    lines(bytes, 16, (row) => writeEach(row, (byte) => ` ${hex(byte, 2)}`).join('')),
  'od -tx1': (bytes) =>
    lines(
      bytes,
      16,
      (row, at) => octal(at, 7) + writeEach(row, (byte) => ` ${hex(byte, 2)}`).join(''),
    ),
  'od -tx1z': (bytes) =>
    lines(
      bytes,
      16,
      (row, at) =>
        `${octal(at, 7)}${writeEach(row, (byte) => ` ${hex(byte, 2)}`)
          .join('')
          .padEnd(48)}  >${printable(row)}<`,
    ),
  'od -c': (bytes) =>
    lines(
      bytes,
      16,
      (row, at) =>
        octal(at, 7) +
        writeEach(row, (byte) =>
          (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : octal(byte, 3)).padStart(4),
        ).join(''),
    ),
  'od -b': (bytes) =>
    lines(
      bytes,
      16,
      (row, at) => octal(at, 7) + writeEach(row, (byte) => ` ${octal(byte, 3)}`).join(''),
    ),
  od: (bytes) =>
    lines(
      bytes,
      16,
      (row, at) => octal(at, 7) + words(row, (word) => ` ${octal(word, 6)}`).join(''),
    ),
  'od -td1': (bytes) =>
    lines(
      bytes,
      16,
      (row, at) =>
        octal(at, 7) +
        writeEach(row, (byte) => ((byte << 24) >> 24).toString().padStart(5)).join(''),
    ),
  'od -tu1': (bytes) =>
    lines(
      bytes,
      16,
      (row, at) => octal(at, 7) + writeEach(row, (byte) => String(byte).padStart(4)).join(''),
    ),
  'od -x': (bytes) =>
    lines(bytes, 16, (row, at) => octal(at, 7) + words(row, (word) => ` ${hex(word, 4)}`).join('')),
  xxd: (bytes) =>
    lines(bytes, 16, (row, at) => {
      const cells = (
        row.length > 0
          ? Buffer.from(row)
              .toString('hex')
              .match(/.{1,4}/g)!
          : []
      ).join(' ')
      return `${hex(at, 8)}: ${cells.padEnd(39)}  ${printable(row)}`
    }),
  'xxd -u': (bytes) =>
    lines(bytes, 16, (row, at) => {
      const cells = Buffer.from(row)
        .toString('hex')
        .toUpperCase()
        .match(/.{1,4}/g)!
        .join(' ')
      return `${hex(at, 8)}: ${cells.padEnd(39)}  ${printable(row)}`
    }),
  'xxd -p': (bytes) => lines(bytes, 30, (row) => Buffer.from(row).toString('hex')),
  'xxd -i': (bytes) =>
    lines(bytes, 12, (row) => `  ${writeEach(row, (byte) => `0x${hex(byte, 2)}`).join(', ')},`),
  'xxd -b': (bytes) =>
    lines(bytes, 6, (row, at) => {
      const cells = writeEach(row, (byte) => byte.toString(2).padStart(8, '0')).join(' ')
      return `${hex(at, 8)}: ${cells.padEnd(53)}  ${printable(row)}`
    }),
  'hexdump -C': (bytes) =>
    lines(bytes, 16, (row, at) => {
      const half = (part: Uint8Array) => writeEach(part, (byte) => hex(byte, 2)).join(' ')
      const cells = `${half(row.subarray(0, 8)).padEnd(23)}  ${half(row.subarray(8)).padEnd(23)}`
      return `${hex(at, 8)}  ${cells}  |${printable(row)}|`
    }),
  'a list of numbers': (bytes) => `[${[...bytes].join(',')}]`,
  'a list with blanks': (bytes) => `[ ${[...bytes].join(', ')} ]`,
  'a Buffer': (bytes) => `<Buffer ${writeEach(bytes, (byte) => hex(byte, 2)).join(' ')}>`,
  'a fingerprint': (bytes) => writeEach(bytes, (byte) => hex(byte, 2)).join(':'),
}

const dumped = fc
  .tuple(values, beside, beside, fc.constantFrom(...Object.keys(DUMPS)), fc.boolean())
  // `od -c` shows a blank as a blank, and JSON escapes what it shows; `od -td1` has negative numbers.
  .filter(([secret, , , name]) =>
    name === 'od -c' ? !/[ "\\]/.test(secret) : name !== 'od -td1' || !/[^ -~]/.test(secret),
  )
  .map(([secret, before, after, name, isJson]) => ({
    secret,
    name,
    write: (bytes: Uint8Array) => {
      const all = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])
      const text = DUMPS[name]!(all)
      return isJson ? JSON.stringify(text) : text
    },
  }))

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

function pass(mask: Mask, chunks: readonly Uint8Array[]): string {
  const stream = mask.stream()
  return Buffer.concat([
    ...chunks.map((chunk) => Buffer.from(stream.push(chunk))),
    stream.end(),
  ]).toString('latin1')
}

const places = fc.array(fc.nat(), { maxLength: 20 })
const around = fc.string({ maxLength: 20, unit: charactersOf('aZ09 \n\\%&"=5') })

/** Masks the text as a whole, in pieces and byte by byte, and expects the same result. */
function maskEverywhere(secret: string, text: string, cuts: readonly number[]): string {
  const mask = new Mask({ A_KEY: secret })
  const bytes = Buffer.from(text)
  const whole = pass(mask, [bytes])
  expect(pass(mask, cut(bytes, cuts))).toBe(whole)
  expect(
    pass(
      mask,
      Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
    ),
  ).toBe(whole)
  return whole
}

const MASKS = /\[masked A_KEY(?::[a-z0-9]+)?\]/

test.each(Object.entries({ escaped, escapedAlike }))(
  'wherever a stream is cut, a value that is %s is masked to its end',
  (_, way) => {
    fc.assert(
      fc.property(way, around, around, places, ({ secret, text }, before, after, cuts) => {
        const masked = maskEverywhere(secret, before + text + after, cuts)
        expect(masked).toMatch(MASKS)
        const left = masked.split(MASKS).join('')
        // The end of an ambiguous escape may be left.
        expect(left.length).toBeLessThanOrEqual(before.length + after.length + 8)
      }),
      {
        numRuns: 1000,
        // The two quotes could be one that is doubled.
        examples: [[{ secret: 'aaaaaaa"', text: 'aaaaaaa\\"' }, '', '\\"', []]],
      },
    )
  },
)

test('however a stream is cut, at most three characters of a wrapped value are left', () => {
  fc.assert(
    fc.property(wrapped, around, around, places, ({ secret, text }, before, after, cuts) => {
      const masked = maskEverywhere(secret, before + text + after, cuts)
      const left = masked.split(MASKS).join('').replaceAll('.', '').length
      const end = LINE_ENDS.reduce((most, each) => Math.max(most, each.length), 0)
      expect(left).toBeLessThanOrEqual(before.length + after.length + 5 * end + 3)
      expect(masked).toMatch(MASKS)
    }),
    { numRuns: 1000 },
  )
})

/** How many unmasked characters of a text depend on the value. */
function countLeft(text: string, other: string, masked: string): number {
  let count = 0
  let at = 0
  for (const [index, piece] of masked.split(MASKS).entries()) {
    const begin = index === 0 ? 0 : text.indexOf(piece, at)
    expect(begin).not.toBe(-1)
    at = begin + piece.length
    for (let place = begin; place < at; place += 1) if (text[place] !== other[place]) count += 1
  }
  return count
}

/** Other bytes of the same kind. */
function otherThan(secret: string): Uint8Array {
  return Buffer.from(secret).map((byte) => (byte >= 128 ? byte ^ 1 : byte === 88 ? 89 : 88))
}

test.each(Object.entries({ base64, dumped }))(
  'wherever a stream is cut, hardly anything is left of a value in %s',
  (_, way) => {
    fc.assert(
      fc.property(way, places, ({ secret, write }, cuts) => {
        const text = write(Buffer.from(secret))
        const masked = maskEverywhere(secret, text, cuts)
        expect(masked).toMatch(MASKS)
        const other = write(otherThan(secret))
        // The length of a list of numbers depends on the value.
        if (other.length !== text.length) return
        const shown = masked.split(MASKS)
        expect(countLeft(text, other, masked)).toBeLessThanOrEqual(shown.length > 0 ? 12 : 0)
      }),
      { numRuns: 1000 },
    )
  },
)
