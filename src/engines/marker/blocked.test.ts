import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Fact } from '../engine.ts'
import { MarkerScanner } from './marker.ts'

const CHUNK_SIZES = [1, 2, 3, 7, 10_000]

function read(text: string, size: number, looksForMarker: boolean): Fact[] {
  const bytes = Buffer.from(text)
  const scanner = new MarkerScanner({ looksForMarker })
  const facts: Fact[] = []
  for (let from = 0; from < bytes.length; from += size) {
    facts.push(...scanner.push(bytes.subarray(from, from + size)))
  }
  return [...facts, ...scanner.end()]
}

/** The reasons, which must not depend on the chunk size or on whether the marker is looked for. */
function reasons(text: string): string[] {
  const all = [true, false].flatMap((looks) =>
    CHUNK_SIZES.map((size) =>
      read(text, size, looks).flatMap((fact) => (fact.type === 'blocked' ? [fact.reason] : [])),
    ),
  )
  for (const each of all) expect(each).toEqual(all[0]!)
  return all[0]!
}

describe('the reason for being blocked', () => {
  test.each([
    ['no key', 'ORCHESTRA_BLOCKED: no key\n'],
    ['no key', 'FORKHESTRA_BLOCKED: no key'],
    ['no key', 'text\n  ORCHESTRA_BLOCKED:no key \r\nmore\n'],
    ['no key', '**ORCHESTRA_BLOCKED: no key**\n'],
    ['no key', '**ORCHESTRA_BLOCKED:** no key\n'],
    ['no key', '**ORCHESTRA_BLOCKED**: no key\n'],
    ['no key', '`ORCHESTRA_BLOCKED: no key`\n'],
    ['no key', '\u001b[31mORCHESTRA_BLOCKED: no\tkey\u001b[0m\n'],
    ['no key: see ORCHESTRA_COMPLETE', 'ORCHESTRA_BLOCKED: no key: see ORCHESTRA_COMPLETE\n'],
    ['no reason given', 'ORCHESTRA_BLOCKED:\n'],
    ['no reason given', 'ORCHESTRA_BLOCKED:   \n'],
    ['no reason given', 'ORCHESTRA_BLOCKED\n'],
    ['no reason given', '**ORCHESTRA_BLOCKED**\n'],
    ['no key', '```\nORCHESTRA_BLOCKED: no key\n'],
    ['first', 'ORCHESTRA_BLOCKED: first\nORCHESTRA_BLOCKED: second\n'],
    ['no key', 'ORCHESTRA_COMPLETE\nORCHESTRA_BLOCKED: no key\n'],
    [`${'é '.repeat(249)}é…`, `ORCHESTRA_BLOCKED: ${'é '.repeat(600)}\n`],
    ['no key:…', `ORCHESTRA_BLOCKED: no key: ${'x'.repeat(600)}\n`],
    ['no key:…', `ORCHESTRA_BLOCKED: no key: ${'x'.repeat(20_000)}\n`],
    ['x'.repeat(500), `ORCHESTRA_BLOCKED: ${'x'.repeat(500)}\n`],
  ])('%j: %j', (reason, text) => {
    expect(reasons(text)).toEqual([reason])
  })
})

test.each([
  ['I would print ORCHESTRA_BLOCKED: no key\n'],
  ['"ORCHESTRA_BLOCKED: no key"\n'],
  ['> ORCHESTRA_BLOCKED: no key\n'],
  ['- ORCHESTRA_BLOCKED: no key\n'],
  ['`ORCHESTRA_BLOCKED:` is for the case that a key is missing\n'],
  ['**ORCHESTRA_BLOCKED: no key\n'],
  ['orchestra_blocked: no key\n'],
  ['ORCHESTRA_BLOCKED by a key\n'],
  ['ORCHESTRA_BLOCKED - no key\n'],
  ['XORCHESTRA_BLOCKED: no key\n'],
  ['ORCHESTRA_BLOCKED: <reason>\n'],
  ['```\nORCHESTRA_BLOCKED: no key\n```\n'],
  ['- ```\n  ORCHESTRA_BLOCKED: no key\n  ```\n'],
  [`${'x'.repeat(5000)}\nORCHESTRA_BLOCKE\nD: x`],
])('not a blocked report: %j', (text) => {
  expect(reasons(text)).toEqual([])
})

test.each([
  ['no_colon', 'ORCHESTRA_BLOCKED no database\n'],
  ['no_colon', '**ORCHESTRA_BLOCKED** no database'],
  ['letter_case', 'orchestra_blocked: no database\n'],
  ['quotes', '"ORCHESTRA_BLOCKED: no database"\n'],
  [undefined, '```\nORCHESTRA_BLOCKED no database\n```\n'],
  [undefined, '"ORCHESTRA_BLOCKED: <reason>"\n'],
  [undefined, 'I would print ORCHESTRA_BLOCKED: no key\n'],
])('a near miss is reported: %p for %j', (why, text) => {
  for (const looks of [true, false])
    for (const size of CHUNK_SIZES)
      expect(read(text, size, looks)).toEqual(
        why === undefined ? [] : [{ type: 'marker_refused', why } as Fact],
      )
})

test('it is reported when its line ends, and scanning stops', () => {
  const scanner = new MarkerScanner()
  expect(scanner.push(Buffer.from('ORCHESTRA_BLOCKED: no'))).toEqual([])
  expect(scanner.isDoneIfSilent).toBe(false)
  const fact: Fact = { type: 'blocked', reason: 'no key' }
  expect(scanner.push(Buffer.from(' key\n'))).toEqual([fact])
  expect(scanner.push(Buffer.from('ORCHESTRA_COMPLETE\n'))).toEqual([])
  expect(scanner.end()).toEqual([])
})

test('a marker after it is ignored, whatever the chunk size', () => {
  for (const size of CHUNK_SIZES) {
    const facts = read('ORCHESTRA_BLOCKED: no key\nORCHESTRA_COMPLETE\n', size, true)
    expect(facts).toEqual([{ type: 'blocked', reason: 'no key' }])
  }
})

test('a mention of it is not a refused marker', () => {
  for (const size of CHUNK_SIZES) {
    expect(read(`see ORCHESTRA_BLOCKED ${'x'.repeat(9000)}\n`, size, true)).toEqual([])
  }
})

test('the result does not depend on the chunk size', () => {
  const words = ['ORCHESTRA_BLOCKED:', 'FORKHESTRA_BLOCKED', 'ORCHESTRA_COMPLETE', 'ORCHESTRA_']
  const signs = ['no key', '**', '`', '```', '~~~', '- ', '    ', ' ', ':', '\n', '\r\n']
  const others = ['\u001b[1m', 'é', 'x'.repeat(4090)]
  const text = fc
    .array(fc.constantFrom(...words, ...signs, '\n', ...others), { maxLength: 40 })
    .map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 300 }), fc.boolean(), (each, size, looks) => {
      expect(read(each, size, looks)).toEqual(read(each, each.length * 4 + 1, looks))
    }),
    { numRuns: 2000 },
  )
})
