import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { changeCriteria } from './criteria.ts'
import { readBody, readNotes } from './read-body.ts'

const HEAD = '---\nid: TASK-001\n---\n'

const ITEM = ['- [ ] WORD', '- [x] #3 WORD', '* [ ] WORD', '  1. [ ] WORD']
const PROSE = [
  'WORD',
  '    WORD',
  '- WORD',
  '# WORD',
  '  - WORD',
  '~~~\n## WORD\n~~~',
  '> WORD',
  '',
]
const HEADINGS = [
  'Description',
  'Acceptance Criteria',
  'Implementation Plan',
  'Plan',
  'Implementation Notes',
  'Notes',
  'WORD',
].map((name) => `## ${name}`)
const MARKED = '<!-- AC:BEGIN -->\n- [ ] #1 WORD\n      WORD\n\nWORD\n<!-- AC:END -->'

/** A body as people write it; each text is a unique word. */
const body = fc
  .array(fc.constantFrom(...ITEM, ...PROSE, ...PROSE, ...HEADINGS, MARKED), { maxLength: 25 })
  .map((lines) => {
    let count = 0
    return lines.join('\n').replaceAll('WORD', () => `w${count++}w`)
  })

const wordsOf = (text: string) => (text.match(/w\d+w/g) ?? []).toSorted()

/** Everything that is shown of a body. */
function shown(text: string): string {
  const { intro, description, checklist, plan, notes, others } = readBody(text)
  const list = checklist.map((piece) => (typeof piece === 'string' ? piece : piece.text))
  const rest = others.flatMap(({ name, text: words }) => [name, words])
  return [intro, description, ...list, plan, notes, ...rest].join('\n')
}

test('everything in a body is shown exactly once', () => {
  fc.assert(
    fc.property(body, fc.constantFrom('\n', '\r\n'), (words, eol) => {
      const text = (HEAD + words).replaceAll('\n', eol)
      expect(wordsOf(shown(text))).toEqual(wordsOf(text))
    }),
    { numRuns: 2000 },
  )
})

test('a tick changes one character, and nothing below the criterion', () => {
  fc.assert(
    fc.property(body, (words) => {
      const text = HEAD + words
      for (const { number, isDone } of readBody(text).criteria) {
        const ticked = changeCriteria(text, isDone ? { uncheck: [number] } : { check: [number] })
        expect(ticked).toHaveLength(text.length)
        expect(ticked.split('').filter((sign, at) => sign !== text[at])).toHaveLength(1)
        expect(shown(ticked)).toBe(shown(text))
      }
    }),
  )
})

test('the lines below a criterion belong to it, without their indentation', () => {
  const text = `${HEAD}## Acceptance Criteria\n\nAll:\n\n- [ ] one\n      fast\n        - and small\n\n  Also:\n- [x] two\n`
  expect(readBody(text).checklist).toEqual([
    'All:',
    { number: 1, isDone: false, text: 'one\nfast\n  - and small' },
    '  Also:',
    { number: 2, isDone: true, text: 'two' },
  ])
})

test('text after criteria without a heading is not lost', () => {
  const text = `${HEAD}Before\n<!-- AC:BEGIN -->\n- [ ] one\n<!-- AC:END -->\nBehind\n`
  const { intro, checklist } = readBody(text)
  expect({ intro, checklist }).toEqual({
    intro: 'Before',
    checklist: [{ number: 1, isDone: false, text: 'one' }, 'Behind'],
  })
})

test('notes under both headings are read', () => {
  expect(readNotes(`${HEAD}## Notes\n\na\n\n## Implementation Notes\n\nb\n`)).toBe('a\n\nb')
})
