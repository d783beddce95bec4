import { expect, test } from 'bun:test'
import { QueueError } from '../../queue/refusal.ts'
import { truncateEnd, resultLimit } from './fit-end.ts'

test.each([10, 100, 101, 102, 103, 1000])(
  'an end fits into %d bytes, and no letter of it is halved',
  (room) => {
    const text = '語é🦊x'.repeat(200)
    const done = truncateEnd({ success: true, output: text }, room, 'logs')
    const output = done.success ? done.output : ''
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(room)
    expect(output).not.toContain('\uFFFD')
    const failed = truncateEnd(
      { success: false, class: 'fatal', error: text, partialOutput: text },
      room,
      'l',
    )
    const { error, partialOutput = '' } = failed as { error: string; partialOutput?: string }
    expect(Buffer.byteLength(error + partialOutput)).toBeLessThanOrEqual(room)
    expect(error + partialOutput).not.toContain('\uFFFD')
  },
)

test('keeps the beginning and the end of a text and notes the omission', () => {
  const text = `first ${'x'.repeat(1000)} last`
  const { output } = truncateEnd({ success: true, output: text }, 200, 'forkhestra logs r') as {
    output: string
  }
  expect(output).toMatch(/^first x+\n… \(middle omitted; full text: forkhestra logs r\)\nx+ last$/)
})

test('does not change an end that fits', () => {
  const end = { success: false, class: 'lost', error: 'gone', partialOutput: 'half' } as const
  expect(truncateEnd(end, 8, '')).toEqual(end)
})

test('only a refusal for size has a limit', () => {
  const tooBig = new QueueError({ kind: 'too_big', what: 'result', bytes: 9, limit: 8 })
  expect(resultLimit(tooBig)).toBe(8)
  expect(resultLimit(new QueueError({ kind: 'main_stays' }))).toBeUndefined()
  expect(resultLimit(new Error('other'))).toBeUndefined()
})
