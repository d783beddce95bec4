import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Tail } from './tail.ts'

test('what is not much is kept whole', () => {
  const tail = new Tail(100)
  for (const text of ['one\n', '', 'two\nthr', 'ee']) tail.push(Buffer.from(text))
  expect(tail.text).toBe('one\ntwo\nthree')
})

test('however a text is cut into chunks, whole lines from its end are kept', () => {
  const chunks = fc.array(fc.string({ maxLength: 60 }).map((text) => text.replaceAll('x', '\n')))
  const size = 20
  fc.assert(
    fc.property(chunks, (texts) => {
      const tail = new Tail(size)
      const bytes = texts.map((text) => Buffer.from(text))
      for (const chunk of bytes) tail.push(chunk)
      const whole = Buffer.concat(bytes).toString('utf8')
      const { text } = tail
      expect(whole.endsWith(text)).toBe(true)
      const isWhole = text === whole || text === '' || whole.at(-text.length - 1) === '\n'
      expect(isWhole).toBe(true)
      const last = whole.slice(whole.lastIndexOf('\n') + 1)
      if (Buffer.byteLength(last) < size) expect(text.endsWith(last)).toBe(true)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2 * size)
    }),
    { numRuns: 2000 },
  )
})

test('of a line without end nothing is kept', () => {
  const tail = new Tail(8)
  for (let count = 0; count < 100; count += 1) tail.push(Buffer.from('word '))
  expect(tail.text).toBe('')
})
