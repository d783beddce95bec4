import { describe, expect, test } from 'bun:test'
import type { Decoder, Fact } from '../engine.ts'
import { plainDecoder } from './decoder.ts'

const LIMIT = 'Claude AI usage limit reached|1794789277'
const LAST_WORDS: Fact = {
  type: 'printed_failure',
  failure: { kind: 'rate_limited', message: LIMIT, resetsAt: 1794789277 },
}
const MARKER: Fact = { type: 'marker' }
const BLOCKED: Fact = { type: 'blocked', reason: 'no key' }

function read(decoder: Decoder, text: string, size = 1 << 16): Fact[] {
  const bytes = Buffer.from(text)
  const facts: Fact[] = []
  for (let from = 0; from < bytes.length; from += size) {
    facts.push(...decoder.push(bytes.subarray(from, from + size)))
  }
  return [...facts, ...decoder.end()]
}

describe('a failure message at the end', () => {
  test.each([
    ['out', true],
    ['out', false],
    ['err', true],
    ['err', false],
  ] as const)('counts on std%s, in a loop: %s', (stream, loop) => {
    for (const size of [1, 7, 1000, 1 << 20]) {
      const text = `${'working\n'.repeat(5000)}${LIMIT}`
      expect(read(plainDecoder(stream, loop), text, size)).toEqual([LAST_WORDS])
    }
  })

  test('does not count long before the end, or inside a longer line', () => {
    expect(read(plainDecoder('out', true), `${LIMIT}\n${'working\n'.repeat(5000)}`)).toEqual([])
    for (const size of [1, 7, 1000, 1 << 20]) {
      expect(read(plainDecoder('out', true), `${'x'.repeat(30_000)}${LIMIT}`, size)).toEqual([])
    }
  })

  test('does not replace a marker', () => {
    const facts = read(plainDecoder('out', true), `ORCHESTRA_COMPLETE\n${LIMIT}\n`)
    expect(facts).toEqual([MARKER, LAST_WORDS])
  })
})

describe('an agent that runs once', () => {
  test('reports blocked, but not the marker', () => {
    const text = 'ORCHESTRA_COMPLETE\n"ORCHESTRA_COMPLETE"\nORCHESTRA_BLOCKED: no key\n'
    expect(read(plainDecoder('out', false), text)).toEqual([BLOCKED])
    expect(read(plainDecoder('out', true), text)).toEqual([MARKER, BLOCKED])
  })

  test('is never done just because it is silent', () => {
    const isDone = (stream: 'out' | 'err', loop: boolean) => {
      const decoder = plainDecoder(stream, loop)
      decoder.push(Buffer.from('ORCHESTRA_COMPLETE'))
      return decoder.isDoneIfSilent
    }
    expect([isDone('out', true), isDone('out', false), isDone('err', true)]).toEqual([
      true,
      false,
      false,
    ])
  })
})

test('on stderr only a failure message counts', () => {
  const text = 'ORCHESTRA_BLOCKED: no key\n'
  expect(read(plainDecoder('err', true), text)).toEqual([])
  expect(read(plainDecoder('err', false), text)).toEqual([])
})
