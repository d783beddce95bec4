import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { makeStamp, type OutputChunk } from '../events/event.ts'
import { eventSchema, type RunEvent } from '../events/schema.ts'
import { Journal } from './journal.ts'

const MIB = 1024 * 1024
const stamp = makeStamp('r1', 'w-1')

const chunk = (text: string, more: Partial<OutputChunk> = {}): OutputChunk => ({
  scope: ['s1', 'i1'],
  step: 1,
  iteration: 1,
  stream: 'out',
  bytes: Buffer.from(text),
  ...more,
})

const warning = (text: string) => stamp({ type: 'warning', text })
const ended = (iteration: number) =>
  stamp({
    type: 'iteration_ended',
    scope: [],
    step: 1,
    iteration,
    outcome: { kind: 'marker' },
    ms: 1,
    outputBytes: 1,
  })

function readEvents(folder: string): RunEvent[] {
  const lines = readFileSync(join(folder, 'events.ndjson'), 'utf8').split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line) => eventSchema.parse(JSON.parse(line)))
}

/** The events in short: warnings by their text, output by stream, place and length. */
const short = (folder: string) =>
  readEvents(folder).map((event) =>
    event.type === 'output'
      ? `${event.stream} ${event.log} ${event.offset}+${event.bytes}`
      : event.type === 'warning'
        ? event.text
        : event.type,
  )

test('every event is a line that reads back as the same event', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  const events = [warning('one\ntwo'), ended(1), warning('é 日本')]
  for (const event of events) journal.append(event)
  expect(readEvents(folder)).toEqual(events)
  journal.close()
  expect(readEvents(folder)).toEqual(events)
})

test('output becomes one event a span, which says where its bytes are', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  journal.append(warning('before'))
  for (const text of ['hel', 'lo', '\n']) journal.output(chunk(text))
  journal.output(chunk('oops\n', { stream: 'err' }))
  journal.output(chunk('on\n'))
  journal.append(warning('between'))
  journal.output(chunk('end'))
  journal.append(ended(1))
  journal.close()
  const log = 'steps/1/iterations/1.log'
  expect(short(folder)).toEqual([
    'before',
    `out ${log} 0+6`,
    `err ${log} 6+5`,
    `out ${log} 11+3`,
    'between',
    `out ${log} 14+3`,
    'iteration_ended',
  ])
  expect(readFileSync(join(folder, log), 'utf8')).toBe('hello\noops\non\nend')
})

test('each iteration of each step has a log of its own', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  journal.output(chunk('first', { iteration: 1 }))
  journal.append(ended(1))
  journal.output(chunk('second', { iteration: 2 }))
  journal.output(chunk('third', { step: 2, iteration: 1 }))
  journal.close()
  expect(short(folder)).toEqual([
    'out steps/1/iterations/1.log 0+5',
    'iteration_ended',
    'out steps/1/iterations/2.log 0+6',
    'out steps/2/iterations/1.log 0+5',
  ])
  const read = (path: string) => readFileSync(join(folder, 'steps', path), 'utf8')
  expect([
    read('1/iterations/1.log'),
    read('1/iterations/2.log'),
    read('2/iterations/1.log'),
  ]).toEqual(['first', 'second', 'third'])
})

test('a stream that never pauses is told in spans of about a megabyte', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  for (let i = 0; i < 40; i++) journal.output(chunk('x'.repeat(64 * 1024)))
  journal.close()
  const log = 'steps/1/iterations/1.log'
  expect(short(folder)).toEqual([
    `out ${log} 0+${MIB}`,
    `out ${log} ${MIB}+${MIB}`,
    `out ${log} ${2 * MIB}+${MIB / 2}`,
  ])
})

test('a second writer goes on behind what is there', () => {
  const folder = makeProject()
  for (const text of ['one', 'two']) {
    const journal = new Journal(folder, stamp)
    journal.append(warning(text))
    journal.close()
  }
  expect(short(folder)).toEqual(['one', 'two'])
})
