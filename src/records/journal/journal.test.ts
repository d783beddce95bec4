import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { makeStamp, type OutputChunk } from '../events/event.ts'
import { eventSchema, type RunEvent } from '../events/schema.ts'
import { NO_EVENTS } from '../events/state.ts'
import { Journal } from './journal.ts'

const MIB = 1024 * 1024
const stamp = makeStamp('r1', 'w-1')

const chunk = (text: string, more: Partial<OutputChunk> = {}): OutputChunk => ({
  scope: ['s1', 'i1'],
  step: 1,
  iteration: 1,
  attempt: 1,
  stream: 'out',
  bytes: Buffer.from(text),
  ...more,
})

const warning = (text: string) => stamp({ type: 'warning', text })
const ended = (iteration: number, attempt = 1) =>
  stamp({
    type: 'iteration_ended',
    scope: ['s1', `i${iteration}`],
    step: 1,
    iteration,
    attempt,
    outcome: { kind: 'marker' },
    ms: 1,
    outputBytes: 1,
  })

function readEvents(folder: string): RunEvent[] {
  const lines = readFileSync(join(folder, 'events.ndjson'), 'utf8').split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line) => eventSchema.parse(JSON.parse(line)))
}

/** What each log holds, by its path. */
function logs(folder: string): Record<string, string> {
  const paths = readdirSync(join(folder, 'steps'), { recursive: true, encoding: 'utf8' })
  const files = paths.filter((path) => path.endsWith('.log'))
  return Object.fromEntries(
    files.map((path) => [path, readFileSync(join(folder, 'steps', path), 'utf8')]),
  )
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

test('output becomes one event per span, which says where its bytes are', () => {
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
  journal.output(chunk('first'))
  journal.append(ended(1))
  journal.output(chunk('second', { scope: ['s1', 'i2'], iteration: 2 }))
  journal.append(ended(2))
  journal.output(chunk('third', { scope: ['s2', 'i1'], step: 2 }))
  journal.close()
  expect(short(folder)).toEqual([
    'out steps/1/iterations/1.log 0+5',
    'iteration_ended',
    'out steps/1/iterations/2.log 0+6',
    'iteration_ended',
    'out steps/2/iterations/1.log 0+5',
  ])
  expect(logs(folder)).toEqual({
    '1/iterations/1.log': 'first',
    '1/iterations/2.log': 'second',
    '2/iterations/1.log': 'third',
  })
})

test('agents that print at the same time have separate logs', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  const other = { scope: ['p1', 's2', 'i1'], step: 2 }
  journal.output(chunk('a'))
  journal.output(chunk('AA', other))
  journal.output(chunk('a'))
  journal.append(ended(1))
  journal.output(chunk('A', other))
  journal.close()
  expect(short(folder)).toEqual([
    'out steps/1/iterations/1.log 0+2',
    'out steps/2/iterations/1.log 0+2',
    'iteration_ended',
    'out steps/2/iterations/1.log 2+1',
  ])
  expect(logs(folder)).toEqual({ '1/iterations/1.log': 'aa', '2/iterations/1.log': 'AAA' })
})

test('an iteration that is repeated leaves the log of the first attempt alone', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  for (const attempt of [1, 2]) {
    journal.output(chunk(`attempt ${attempt}`, { attempt }))
    journal.append(ended(1, attempt))
  }
  journal.close()
  expect(logs(folder)).toEqual({
    '1/iterations/1.log': 'attempt 1',
    '1/iterations/1.2.log': 'attempt 2',
  })
})

test('an existing log is never overwritten, and the events name the new one', () => {
  const folder = makeProject({ 'steps/1/iterations/1.log': 'of a process that died' })
  for (const text of ['mine', 'and mine']) {
    const journal = new Journal(folder, stamp)
    journal.output(chunk(text))
    journal.close()
  }
  expect(logs(folder)).toEqual({
    '1/iterations/1.log': 'of a process that died',
    '1/iterations/1.again-2.log': 'mine',
    '1/iterations/1.again-3.log': 'and mine',
  })
  expect(short(folder)).toEqual([
    'out steps/1/iterations/1.again-2.log 0+4',
    'out steps/1/iterations/1.again-3.log 0+8',
  ])
})

test('a step that starts again has its own logs, and its events say so', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  const place = { scope: ['s1', 'r2', 'i1'], step: 1, iteration: 1, attempt: 1 }
  journal.append(stamp({ type: 'iteration_started', ...place, round: 2 }))
  journal.output(chunk('again', { scope: place.scope }))
  journal.close()
  expect(logs(folder)).toEqual({ '1/round-2/iterations/1.log': 'again' })
  expect(readEvents(folder)[1]).toMatchObject({ type: 'output', round: 2 })
})

test('messages do not divide the output of an agent', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  const place = { scope: ['s1', 'i1'], step: 1, iteration: 1, attempt: 1 }
  journal.output(chunk('x'))
  journal.append(stamp({ type: 'message', ...place, text: 'hello' }))
  journal.output(chunk('y'))
  expect(short(folder)).toEqual(['message'])
  journal.append(warning('now'))
  expect(short(folder)).toEqual(['message', 'out steps/1/iterations/1.log 0+2', 'now'])
  journal.close()
})

describe('a prompt is saved', () => {
  test('once, and only for its owner', () => {
    const folder = makeProject()
    const journal = new Journal(folder, stamp)
    journal.prompt('abc', 'Do it')
    journal.prompt('abc', 'what has the same hash is the same')
    const path = join(folder, 'prompts/abc.txt')
    expect(readFileSync(path, 'utf8')).toBe('Do it')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    journal.close()
  })

  test('not in a folder that was deleted', () => {
    const folder = join(makeProject({ 'r1/x': '' }), 'r1')
    const journal = new Journal(folder, stamp)
    rmSync(folder, { recursive: true })
    expect(() => journal.prompt('abc', 'Do it')).toThrow(`${folder} was deleted`)
    journal.abandon()
  })
})

describe('a checkpoint', () => {
  const addEvent = (journal: Journal, bytes: number) => {
    journal.append(warning('x'.repeat(bytes)))
    journal.checkpoint(NO_EVENTS)
    journal.flush()
  }
  const isThere = (folder: string) => existsSync(join(folder, 'checkpoint.json'))

  test('is written once the events are many bytes, and at the end', () => {
    const folder = makeProject()
    const journal = new Journal(folder, stamp)
    addEvent(journal, 200 * 1024)
    expect(isThere(folder)).toBe(false)
    addEvent(journal, 57 * 1024)
    expect(isThere(folder)).toBe(true)
    rmSync(join(folder, 'checkpoint.json'))
    addEvent(journal, 10)
    expect(isThere(folder)).toBe(false)
    journal.close()
    expect(isThere(folder)).toBe(true)
  })

  test('that cannot be written is ignored', () => {
    const folder = makeProject({ 'checkpoint.json/x': 'a folder in its place' })
    const journal = new Journal(folder, stamp)
    addEvent(journal, 257 * 1024)
    expect(() => journal.close()).not.toThrow()
    expect(readdirSync(folder).toSorted()).toEqual(['checkpoint.json', 'events.ndjson'])
  })
})

test('output becomes an event when the journal is flushed', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  journal.output(chunk('now'))
  expect(short(folder)).toEqual([])
  journal.flush()
  expect(short(folder)).toEqual(['out steps/1/iterations/1.log 0+3'])
  journal.close()
})

describe('a folder that was deleted', () => {
  const begin = () => {
    const folder = join(makeProject({ 'r1/x': '' }), 'r1')
    return { folder, journal: new Journal(folder, stamp) }
  }

  test('is noticed when an agent begins to print', () => {
    const { folder, journal } = begin()
    rmSync(folder, { recursive: true })
    expect(() => journal.output(chunk('x'))).toThrow(`${folder} was deleted`)
    expect(existsSync(folder)).toBe(false)
    journal.abandon()
  })

  test('is noticed when an iteration ends', () => {
    const { folder, journal } = begin()
    journal.output(chunk('x'))
    rmSync(folder, { recursive: true })
    expect(() => journal.append(ended(1))).toThrow(`${folder} was deleted`)
    journal.abandon()
  })
})

test('records whose .gitignore an agent deleted are ignored again', () => {
  const root = makeProject({ '.gitignore': '*\n', 'r1/x': '' })
  const journal = new Journal(join(root, 'r1'), stamp)
  rmSync(join(root, '.gitignore'))
  journal.output(chunk('x'))
  journal.close()
  expect(readFileSync(join(root, '.gitignore'), 'utf8')).toBe('*\n')
})

test('a continuous stream becomes spans of about a megabyte', () => {
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

test('a second writer appends', () => {
  const folder = makeProject()
  for (const text of ['one', 'two']) {
    const journal = new Journal(folder, stamp)
    journal.append(warning(text))
    journal.close()
  }
  expect(short(folder)).toEqual(['one', 'two'])
})
