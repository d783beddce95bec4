import { expect, test } from 'bun:test'
import { QueueError } from '../queue/refusal.ts'
import { fitted, roomFor } from './fit-end.ts'

test.each([10, 100, 101, 102, 103, 1000])(
  'an end fits into %d bytes, and no letter of it is halved',
  (room) => {
    const text = '語é🦊x'.repeat(200)
    const done = fitted({ success: true, output: text }, room, 'logs')
    const output = done.success ? done.output : ''
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(room)
    expect(output).not.toContain('\uFFFD')
    const failed = fitted(
      { success: false, class: 'fatal', error: text, partialOutput: text },
      room,
      'l',
    )
    const { error, partialOutput = '' } = failed as { error: string; partialOutput?: string }
    expect(Buffer.byteLength(error + partialOutput)).toBeLessThanOrEqual(room)
    expect(error + partialOutput).not.toContain('\uFFFD')
  },
)

test('beginning and end of a text stay, and a note says that its middle is cut', () => {
  const text = `first ${'x'.repeat(1000)} last`
  const { output } = fitted({ success: true, output: text }, 200, 'forkhestra logs r') as {
    output: string
  }
  expect(output).toMatch(
    /^first x+\n… \(the middle is cut; the whole: forkhestra logs r\)\nx+ last$/,
  )
})

test('what fits stays as it is', () => {
  const end = { success: false, class: 'lost', error: 'gone', partialOutput: 'half' } as const
  expect(fitted(end, 8, '')).toEqual(end)
})

test('only a refusal for size says how much room there is', () => {
  const tooBig = new QueueError({ kind: 'too_big', what: 'result', bytes: 9, limit: 8 })
  expect(roomFor(tooBig)).toBe(8)
  expect(roomFor(new QueueError({ kind: 'main_stays' }))).toBeUndefined()
  expect(roomFor(new Error('other'))).toBeUndefined()
})
