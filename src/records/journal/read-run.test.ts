import { describe, expect, test } from 'bun:test'
import {
  appendFileSync,
  copyFileSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { makeProject } from '../../../tests/support/project.ts'
import { makeStamp, type EventBody, type EventOf } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { next } from '../events/fold.ts'
import { NO_EVENTS, type RunState } from '../events/state.ts'
import { Journal } from './journal.ts'
import { readEvents, readEventsOf, readOutput, readPlan, readRunState } from './read-run.ts'

const PLACE = { scope: ['s1', 'i1'], step: 1, iteration: 1, attempt: 1 }
const steps = [{ step: 1, agent: 'a', maxIterations: 3 }]
const STARTED: EventBody = {
  type: 'run_started',
  schema: 1,
  version: '1.0.0',
  pid: 1,
  cwd: '/',
  steps,
  plan: { name: 'first' },
}
const RESUMED: EventBody = { type: 'run_resumed', version: '1.1.0', pid: 2 }
const ENDED: EventBody = {
  type: 'iteration_ended',
  ...PLACE,
  outcome: { kind: 'exited', code: 1 },
  ms: 5,
  outputBytes: 0,
}
const BODIES: readonly EventBody[] = [
  { type: 'step_started', scope: ['s1'], step: 1, agent: 'a', maxIterations: 3 },
  { type: 'iteration_started', ...PLACE, pid: 8 },
  { type: 'message', ...PLACE, text: 'é 日本 {"type":"run_ended"}' },
  { type: 'tool', ...PLACE, name: 'Read', brief: 'x' },
  { type: 'limit', ...PLACE, status: 'allowed' },
  { type: 'warning', text: 'careful' },
  { type: 'marker_refused', ...PLACE, why: 'quotes' },
  { type: 'waiting', ...PLACE, why: 'retry', until: new Date(0).toISOString(), error: 'x' },
  { type: 'waited', ...PLACE, ms: 3, cause: 'over' },
  ENDED,
  RESUMED,
  {
    type: 'step_ended',
    scope: ['s1'],
    step: 1,
    agent: 'a',
    reason: 'marker',
    iterations: 2,
    failures: 1,
  },
  { type: 'run_ended', ok: true, exitCode: 0, leftovers: [] },
]

interface Recorded {
  readonly folder: string
  readonly events: readonly RunEvent[]
  readonly path: string
}

/** A record of these events; the checkpoint is taken after so many of them. */
function record(bodies: readonly EventBody[], checkpointAfter?: number): Recorded {
  const folder = makeProject()
  const stamp = makeStamp('r1', 'w-1')
  const journal = new Journal(folder, stamp)
  const events = bodies.map((body) => stamp(body))
  for (const [index, event] of events.entries()) {
    journal.append(event)
    if (index + 1 === checkpointAfter) journal.checkpoint(fold(events.slice(0, index + 1)))
  }
  journal.close()
  return { folder, events, path: join(folder, 'events.ndjson') }
}

function fold(events: readonly RunEvent[]): RunState {
  let state = NO_EVENTS
  for (const event of events) state = next(state, event)
  return state
}

function expectState(folder: string, events: readonly RunEvent[]): void {
  const { state, seq } = readRunState(folder)
  expect(state).toEqual(JSON.parse(JSON.stringify(fold(events))))
  expect(seq).toBe(events.findLast((event) => event.seq !== undefined)?.seq ?? 0)
}

const anyEvents = fc.array(fc.constantFrom(...BODIES), { maxLength: 60 })

test('the state of a run is the same wherever its checkpoint was', () => {
  fc.assert(
    fc.property(anyEvents, fc.nat(60), (bodies, after) => {
      const { folder, events } = record([STARTED, ...bodies], after)
      expectState(folder, events)
    }),
    { numRuns: 100 },
  )
})

describe('a checkpoint is used only', () => {
  const cases: [string, (folder: string, path: string) => void][] = [
    ['if it is whole', (folder) => truncateSync(join(folder, 'checkpoint.json'), 20)],
    ['if it is not empty', (folder) => truncateSync(join(folder, 'checkpoint.json'), 0)],
    [
      'if it speaks of this form of state',
      (folder) => {
        const path = join(folder, 'checkpoint.json')
        const other = { ...JSON.parse(readFileSync(path, 'utf8')), form: 0, state: {} }
        writeFileSync(path, JSON.stringify(other))
      },
    ],
  ]
  test.each(cases)('%s', (_, spoil) => {
    const { folder, events, path } = record([STARTED, ...BODIES], 5)
    spoil(folder, path)
    expectState(folder, events)
  })

  test('if its events are in the file', () => {
    const { folder, events, path } = record([STARTED, ...BODIES], BODIES.length + 1)
    const lines = readFileSync(path, 'utf8').split('\n')
    writeFileSync(path, lines.slice(0, 5).join('\n') + '\n')
    expectState(folder, events.slice(0, 5))
  })

  test('if it was made of these events', () => {
    const { folder, events } = record([STARTED, ...BODIES, ENDED], 5)
    const other = record([STARTED, RESUMED, RESUMED, RESUMED], 3)
    copyFileSync(join(other.folder, 'checkpoint.json'), join(folder, 'checkpoint.json'))
    expectState(folder, events)
  })

  test('and then no earlier event is read', () => {
    const bodies = [STARTED, ...BODIES, ...BODIES, ...BODIES, ...BODIES]
    const { folder, events, path } = record(bodies, bodies.length)
    const bytes = readFileSync(path)
    bytes.fill('x', 0, 40)
    writeFileSync(path, bytes)
    expectState(folder, events)
  })
})

describe('after a crash', () => {
  const whole = (): Recorded & { bytes: Buffer } => {
    const recorded = record([STARTED, ...BODIES.slice(0, 5), ENDED])
    return { ...recorded, bytes: readFileSync(recorded.path) }
  }

  test('in the middle of a line, all complete events count, wherever it was cut', () => {
    const { folder, events, path, bytes } = whole()
    const lines = bytes.toString().split('\n').slice(0, -1)
    let start = 0
    const ends = lines.map((line) => (start += Buffer.byteLength(line) + 1))
    for (let cut = ends.at(-4)!; cut <= bytes.length; cut++) {
      writeFileSync(path, bytes.subarray(0, cut))
      // An event that lacks nothing but its newline is whole.
      const count = ends.filter((end) => end - 1 <= cut).length
      expectState(folder, events.slice(0, count))
      expect([...readEvents(folder)].map(({ event }) => event)).toEqual(events.slice(0, count))
    }
  })

  test.each([1, 100, 4096, 300_000])('%d zeros after a power failure are not events', (n) => {
    const { folder, events, path } = whole()
    appendFileSync(path, Buffer.concat([Buffer.from('{"type":"mess'), Buffer.alloc(n)]))
    expectState(folder, events)
    expect([...readEvents(folder)]).toHaveLength(events.length)
  })

  test('a gap of zeros loses only the events in it', () => {
    const { folder, events, path, bytes } = whole()
    const ends = bytes.toString().split('\n')
    const second = Buffer.byteLength(ends[0]!) + 1
    bytes.fill(0, second, second + 30)
    writeFileSync(path, bytes)
    expectState(folder, [events[0]!, ...events.slice(2)])
    expect(readRunState(folder).damage).toEqual(['event 2 is missing'])
  })

  test.each([
    [[1, 2], ['events 2 to 3 are missing']],
    [[3], ['event 4 is missing']],
    [
      [1, 4],
      ['event 2 is missing', 'event 5 is missing'],
    ],
    [[], []],
  ])('missing events are described: %j', (lost, words) => {
    const { folder, path, bytes } = whole()
    const lines = bytes.toString().split('\n')
    const kept = lines.map((line, index) => (lost.includes(index as never) ? '{garbage' : line))
    writeFileSync(path, kept.join('\n'))
    expect(readRunState(folder).damage).toEqual(words)
  })

  test('before the first event, there is nothing', () => {
    const folder = makeProject({ 'events.ndjson': '{"type":"run_sta' })
    expect(readRunState(folder)).toEqual({ state: NO_EVENTS, seq: 0, damage: [] })
    expect(readPlan(folder)).toBeUndefined()
  })
})

describe('the plan of a run', () => {
  test('is the one that it was started with', () => {
    const { folder } = record([STARTED, ...BODIES])
    expect(readPlan(folder)).toEqual({ version: '1.0.0', plan: { name: 'first' } })
  })

  test('or the one of its last resume', () => {
    const changed = (name: string): EventBody => ({ ...RESUMED, plan: { name } })
    const { folder } = record([STARTED, changed('second'), ENDED, changed('third'), RESUMED])
    expect(readPlan(folder)).toEqual({ version: '1.1.0', plan: { name: 'third' } })
  })
})

test('events of some types are read', () => {
  const { folder, events, path } = record([STARTED, ...BODIES, ENDED])
  appendFileSync(path, '{"type":"iteration_ended",oops}\n')
  const ended = events.filter(({ type }) => type === 'iteration_ended')
  expect([...readEventsOf(folder, ['iteration_ended'])]).toEqual(
    ended as EventOf<'iteration_ended'>[],
  )
  expect([...readEventsOf(makeProject(), ['iteration_ended'])]).toEqual([])
})

test('reading can continue after the last event', () => {
  const { folder, events, path } = record([STARTED, ...BODIES])
  const all = [...readEvents(folder)]
  expect(all.map(({ event }) => event)).toEqual([...events])
  for (const [index, { offset }] of all.entries()) {
    expect([...readEvents(folder, offset)]).toEqual(all.slice(index + 1))
  }
  const { offset } = all.at(-1)!
  appendFileSync(path, '{"type":"warning","text":"ha')
  expect([...readEvents(folder, offset)]).toEqual([])
  appendFileSync(path, 'lf"}\n')
  expect([...readEvents(folder, offset)]).toMatchObject([{ event: { text: 'half' } }])
})

test('output is read back unchanged', () => {
  const folder = makeProject()
  const stamp = makeStamp('r1', 'w-1')
  const journal = new Journal(folder, stamp)
  const say = (stream: 'out' | 'err', text: string) =>
    journal.output({ ...PLACE, stream, bytes: Buffer.from(text) })
  say('out', 'hello ')
  say('out', 'world\n')
  say('err', 'oops\n')
  say('out', 'é')
  journal.append(stamp(ENDED))
  journal.close()
  const spans = [...readEvents(folder)].flatMap(({ event }) =>
    event.type === 'output' ? [event as EventOf<'output'>] : [],
  )
  const texts = spans.map((span) => Buffer.from(readOutput(folder, span)!).toString())
  expect(texts).toEqual(['hello world\n', 'oops\n', 'é'])
  rmSync(join(folder, spans[0]!.log!))
  expect(readOutput(folder, spans[0]!)).toBeUndefined()
  expect(readOutput(folder, { ...spans[0]!, log: undefined })).toBeUndefined()
})

test('missing output cannot be read', () => {
  const folder = join(makeProject(), 'gone')
  expect(() => readRunState(folder)).toThrow('ENOENT')
  expect(() => [...readEvents(folder)]).toThrow('ENOENT')
})
