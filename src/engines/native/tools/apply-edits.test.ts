import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { applyEdits } from './apply-edits.ts'
import { endsWithCrlf, textOf } from './line-ends.ts'

/** Few signs, so that texts repeat themselves; all that is difficult is among them. */
const sign = fc.constantFrom('a', 'b', ' ', '\t', '\n', '\r\n', 'é', '🙂', '$&', '\uFEFF')
const text = fc.array(sign, { maxLength: 12 }).map((parts) => parts.join(''))
const bytes = fc
  .oneof(
    text.map((value) => Buffer.from(value)),
    fc.uint8Array({ maxLength: 20 }),
  )
  .map((value) => Buffer.from(value).toString('latin1'))

/** A file in one way of ending lines, as nearly all are; a CR alone would become one with what follows. */
const file = fc
  .tuple(bytes, fc.constantFrom('\n', '\r\n'))
  .map(([content, end]) =>
    content.replaceAll(/\r*\n/g, '\n').replaceAll('\r', '').replaceAll('\n', end),
  )

test('an edit and its reverse restore every byte', () => {
  fc.assert(
    fc.property(file, text, text, text, (content, before, old, by) => {
      const whole = content + Buffer.from(before + old).toString('latin1') + content
      const there = applyEdits(whole, [{ old, new: by }])
      fc.pre('content' in there)
      const back = applyEdits(there.content, [{ old: by, new: old }])
      // Only a unique text can be found again, and only other lines show the line ends of the file.
      fc.pre('content' in back && isUniform(whole))
      fc.pre(endsWithCrlf(whole) === endsWithCrlf(there.content))
      expect(back.content).toBe(whole)
    }),
    { numRuns: 3000 },
  )
})

/** With mixed line ends, the line end of a new line is ambiguous. */
function isUniform(content: string): boolean {
  return !content.includes('\r\n') || !/(?<!\r)\n/.test(content)
}

test('an edit changes only its match', () => {
  fc.assert(
    fc.property(bytes, text, bytes, (head, by, tail) => {
      const applied = applyEdits(`${head}<here>${tail}`, [{ old: '<here>', new: `<${by}>` }])
      fc.pre('content' in applied)
      expect(applied.content.slice(0, head.length)).toBe(head)
      expect(applied.content.endsWith(tail)).toBe(true)
    }),
  )
})

test('replaceAll works like String.replaceAll', () => {
  fc.assert(
    fc.property(text, text, text, (content, old, by) => {
      fc.pre(old !== '' && old !== by && content.includes(old))
      fc.pre(!content.includes('\r'))
      const encoded = Buffer.from(content).toString('latin1')
      const applied = applyEdits(encoded, [{ old, new: by, replaceAll: true }])
      if ('problem' in applied) throw new Error(applied.problem)
      expect(textOf(applied.content)).toBe(content.replaceAll(old, () => by))
    }),
  )
})

test('a list of edits is the same as one edit after the other', () => {
  const edit = fc.record({ old: text, new: text, replaceAll: fc.boolean() })
  fc.assert(
    fc.property(file, fc.array(edit, { minLength: 1, maxLength: 3 }), (content, edits) => {
      const together = applyEdits(content, edits)
      let now = content
      for (const one of edits) {
        const applied = applyEdits(now, [one])
        if ('problem' in applied) return expect(together).toHaveProperty('problem')
        now = applied.content
      }
      if (isUniform(content)) expect(together).toHaveProperty('lines')
    }),
  )
})
