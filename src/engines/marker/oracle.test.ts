import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Refusal } from '../../records/events/schema.ts'
import { MarkerScanner } from './marker.ts'

// A second implementation of the marker rule. It knows the kind of each line because it made it, and it
// looks ahead for the end of a fence, which a stream scanner cannot do.

type Line =
  | { readonly kind: 'marker' | 'prose'; readonly text: string }
  | { readonly kind: 'refused'; readonly text: string; readonly why: Refusal }
  | {
      readonly kind: 'fence'
      readonly text: string
      readonly mark: string
      readonly role: 'both' | 'opens'
    }

const WORDS = ['ORCHESTRA_COMPLETE', 'FORKHESTRA_COMPLETE']

const marker = fc
  .tuple(
    fc.constantFrom('', ' ', '   ', '\t', '      ', '\u001b[32m'),
    fc.constantFrom('', '**', '__', '`', '``', '```'),
    fc.constantFrom(...WORDS),
    fc.constantFrom('', ' ', '\u001b[0m', '\t '),
  )
  .map(([before, wrap, word, after]): Line => {
    return { kind: 'marker', text: `${before}${wrap}${word}${wrap}${after}` }
  })

const refused = fc.constantFrom<Line>(
  { kind: 'refused', why: 'quotes', text: '"ORCHESTRA_COMPLETE"' },
  { kind: 'refused', why: 'quotes', text: "  'FORKHESTRA_COMPLETE'" },
  { kind: 'refused', why: 'letter_case', text: 'orchestra_complete' },
  { kind: 'refused', why: 'longer_line', text: 'Done. ORCHESTRA_COMPLETE' },
  { kind: 'refused', why: 'longer_line', text: 'I will not print FORKHESTRA_COMPLETE yet' },
  { kind: 'refused', why: 'longer_line', text: '**ORCHESTRA_COMPLETE' },
)

const prose = fc
  .constantFrom('', 'text', '``', '~~', 'a ``` b', '``` `x`', '```x```', 'ORCHESTRA', '> ~~~')
  .map((text): Line => ({ kind: 'prose', text }))

const fence = fc
  .tuple(
    fc.constantFrom('', ' ', '   '),
    fc.constantFrom('```', '````', '``````', '~~~', '~~~~'),
    fc.constantFrom('', '', '', '  ', 'js', ' text'),
  )
  .map(([indent, mark, info]): Line => {
    const role = info.trim() === '' ? 'both' : 'opens'
    return { kind: 'fence', text: `${indent}${mark}${info}`, mark, role }
  })

const line = fc.oneof(
  { arbitrary: marker, weight: 3 },
  { arbitrary: refused, weight: 2 },
  { arbitrary: prose, weight: 2 },
  { arbitrary: fence, weight: 4 },
)

function closes(each: Line, mark: string): boolean {
  return each.kind === 'fence' && each.role !== 'opens' && each.mark.startsWith(mark)
}

/** The refusals of lines outside fences. */
function refusalsOf(lines: readonly Line[]): Refusal[] {
  return lines.flatMap((each) => (each.kind === 'refused' ? [each.why] : []))
}

function judge(lines: readonly Line[]): string[] {
  const refusals: Refusal[] = []
  let isComplete = false
  let at = 0
  while (at < lines.length && !isComplete) {
    const here = lines[at]!
    at += 1
    if (here.kind === 'marker') isComplete = true
    if (here.kind === 'refused') refusals.push(here.why)
    if (here.kind !== 'fence') continue
    const inside = lines.slice(at)
    const end = inside.findIndex((each) => closes(each, here.mark))
    const block = end === -1 ? inside : inside.slice(0, end)
    const hasMarker = block.some((each) => each.kind === 'marker')
    refusals.push(...refusalsOf(block))
    if (end === -1) isComplete = hasMarker
    else if (hasMarker) refusals.push('code_fence')
    at += end === -1 ? inside.length : end + 1
  }
  const why = refusals.find((each) => each !== 'longer_line') ?? refusals[0]
  return [...(isComplete ? ['marker'] : []), ...(why === undefined ? [] : [why])]
}

test('the scanner agrees with a simple implementation of the rule', () => {
  const ends = fc.constantFrom('\n', '\r\n')
  const size = fc.constantFrom(1, 3, 7, 10_000)
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      ends,
      fc.boolean(),
      size,
      (lines, end, isEnded, chunk) => {
        const text = lines.map((each) => each.text).join(end) + (isEnded ? end : '')
        const bytes = Buffer.from(text)
        const scanner = new MarkerScanner()
        const facts = []
        for (let from = 0; from < bytes.length; from += chunk) {
          facts.push(...scanner.push(bytes.subarray(from, from + chunk)))
        }
        facts.push(...scanner.end())
        const said: string[] = facts.map((fact) =>
          fact.type === 'marker_refused' ? fact.why : fact.type,
        )
        expect(said).toEqual(judge(lines))
      },
    ),
    { numRuns: 10_000 },
  )
})
