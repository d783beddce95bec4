import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { LineQuoter, quoteLines } from './line-quoter.ts'
import { MarkerScanner } from './marker.ts'

function quote(bytes: Buffer, size: number): Buffer {
  const quoter = new LineQuoter()
  const parts: Uint8Array[] = []
  for (let from = 0; from < bytes.length; from += size)
    parts.push(Buffer.from(quoter.push(bytes.subarray(from, from + size))))
  return Buffer.concat([...parts, quoter.finish()])
}

function factsIn(bytes: Buffer): string[] {
  const scanner = new MarkerScanner()
  return [...scanner.push(bytes), ...scanner.end()].map((fact) => fact.type)
}

const words = ['ORCHESTRA_COMPLETE', 'FORKHESTRA_BLOCKED: no key', 'ORCHESTRA_', 'BLOCKED', 'text']
const signs = ['**', '__', '`', '```', '~~~', '- ', ' ', '\t', ':', '\n', '\r\n', '\r', '> ']
const others = ['\u001b[1m', '\u001b]0;t\u0007', '\u001b[', '\u009b', '\ufeff', '\u00a0', 'é', '👍']
const text = fc
  .array(fc.constantFrom(...words, ...signs, '\n', ...others, ' '.repeat(300)), { maxLength: 30 })
  .map((pieces) => Buffer.from(pieces.join('')))

test('quoted text never completes or blocks a step, however it is cut', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 40 }), (bytes, size) => {
      const facts = factsIn(quote(bytes, size))
      expect(facts).not.toContain('marker')
      expect(facts).not.toContain('blocked')
    }),
    { numRuns: 5000 },
  )
})

test('only quote marks at the start of lines are added', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 40 }), (bytes, size) => {
      const before = bytes.toString('latin1').split('\n')
      const after = quote(bytes, size).toString('latin1').split('\n')
      expect(after.length).toBe(before.length)
      after.forEach((line, at) => expect([before[at], `> ${before[at]}`]).toContain(line))
    }),
    { numRuns: 5000 },
  )
})

test.each([
  ['ORCHESTRA_COMPLETE', '> ORCHESTRA_COMPLETE'],
  ['a\r\n\t**FORKHESTRA_COMPLETE**\r\n', 'a\r\n> \t**FORKHESTRA_COMPLETE**\r\n'],
  ['**ORCHESTRA_BLOCKED:** no key\n', '> **ORCHESTRA_BLOCKED:** no key\n'],
  ['ORCHESTRA_BLOCKED: <reason>\n', 'ORCHESTRA_BLOCKED: <reason>\n'],
  ['ORCHESTRA_COMPLETE is the marker\n', 'ORCHESTRA_COMPLETE is the marker\n'],
])('only lines that a run would act on are quoted: %j', (line, shown) => {
  expect(quoteLines(line, { FORKHESTRA_RUN_ID: 'x' })).toBe(shown)
  expect(quoteLines(line, {})).toBe(line)
  for (const size of [1, 3, 7]) expect(quote(Buffer.from(line), size).toString()).toBe(shown)
})

test('other text is passed on immediately', () => {
  const quoter = new LineQuoter()
  for (const piece of ['.', '.', 'ORCH', '\nO', 'K', '\n50 %'])
    expect(Buffer.from(quoter.push(Buffer.from(piece))).toString()).toBe(
      piece === '\nO' ? '\n' : piece === 'K' ? 'OK' : piece,
    )
})
