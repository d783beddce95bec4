import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { makeStamp } from '../records/events/event.ts'
import { eventSchema, type RunEvent } from '../records/events/schema.ts'
import { JsonView } from './json.ts'

const stamp = makeStamp('r1', 'w-1')
const place = { scope: ['s1', 'i1'], step: 1, iteration: 1, attempt: 1 }

function watch(play: (view: JsonView) => void): RunEvent[] {
  let text = ''
  const onlyStdout = (stream: string, bytes: Uint8Array) => {
    expect(stream).toBe('out')
    text += Buffer.from(bytes).toString()
  }
  const refuse = () => expect.unreachable('nothing but JSON is written')
  play(new JsonView({ bytes: onlyStdout, line: refuse, warn: refuse }, stamp))
  const lines = text.split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line) => eventSchema.parse(JSON.parse(line)))
}

const say = (view: JsonView, bytes: Uint8Array, stream: 'out' | 'err' = 'out') =>
  void view.output({ ...place, stream, bytes })

const textOf = (events: readonly RunEvent[], stream: 'out' | 'err') =>
  events
    .map((event) => (event.type === 'output' && event.stream === stream ? event.text : ''))
    .join('')

test('events are printed unchanged, one per line', () => {
  const event = stamp({ type: 'warning', text: 'one\ntwo\u2028' })
  expect(watch((view) => view.show(event))).toEqual([event])
})

test('output is an event with its place and its text, without a number', () => {
  const [event] = watch((view) => say(view, Buffer.from('hello\n'), 'err'))
  expect(event).toMatchObject({ type: 'output', ...place, stream: 'err', text: 'hello\n' })
  expect(event).not.toContainKey('seq')
})

test('a split character is joined, and an empty piece is not an event', () => {
  const bytes = Buffer.from('日')
  const events = watch((view) => {
    say(view, bytes.subarray(0, 1))
    say(view, bytes.subarray(1, 2))
    say(view, bytes.subarray(2))
  })
  expect(events).toHaveLength(1)
  expect(textOf(events, 'out')).toBe('日')
})

test('the two streams do not mix their cut characters', () => {
  const [one, two] = [Buffer.from('é'), Buffer.from('👍')]
  const events = watch((view) => {
    say(view, one.subarray(0, 1), 'out')
    say(view, two.subarray(0, 2), 'err')
    say(view, one.subarray(1), 'out')
    say(view, two.subarray(2), 'err')
  })
  expect([textOf(events, 'out'), textOf(events, 'err')]).toEqual(['é', '👍'])
})

test('half a character of one iteration does not spoil the next', () => {
  const events = watch((view) => {
    say(view, Buffer.from('é').subarray(0, 1))
    const outcome = { kind: 'exited' as const, code: 0 }
    view.show(stamp({ type: 'iteration_ended', ...place, outcome, ms: 1, outputBytes: 1 }))
    say(view, Buffer.from('next'))
  })
  expect(textOf(events, 'out')).toBe('\uFFFDnext')
})

test('text is complete however it is cut', () => {
  const text = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 5 }), (each, size) => {
      const bytes = Buffer.from(each)
      const events = watch((view) => {
        for (let at = 0; at < bytes.length; at += size) say(view, bytes.subarray(at, at + size))
      })
      expect(textOf(events, 'out')).toBe(each)
    }),
  )
})

test('invalid UTF-8 becomes replacement characters', () => {
  const events = watch((view) => say(view, Uint8Array.of(0x61, 0xff, 0x62)))
  expect(textOf(events, 'out')).toBe('a\uFFFDb')
})
