import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { placesAt } from '../../../tests/support/records.ts'
import { makeStamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { next } from '../events/fold.ts'
import { NO_EVENTS } from '../events/state.ts'
import { Origins } from './origins.ts'
import { readEvents, readOutput, readRunState } from './read-run.ts'
import { holderOf, RunLock } from './run-lock.ts'
import { RunRecord } from './run-record.ts'

const stamp = makeStamp('r1', 'w-1')
const EVENT = stamp({ type: 'warning', text: 'hello' })

/** Records iterations of an agent that talks much, until it is killed. */
const DRIVER = `
  import { makeStamp } from ${JSON.stringify(join(import.meta.dir, '../events/event.ts'))}
  import { next } from ${JSON.stringify(join(import.meta.dir, '../events/fold.ts'))}
  import { NO_EVENTS } from ${JSON.stringify(join(import.meta.dir, '../events/state.ts'))}
  import { RunLock } from ${JSON.stringify(join(import.meta.dir, 'run-lock.ts'))}
  import { readRunState } from ${JSON.stringify(join(import.meta.dir, 'read-run.ts'))}
  import { Origins } from ${JSON.stringify(join(import.meta.dir, 'origins.ts'))}
  import { RunRecord } from ${JSON.stringify(join(import.meta.dir, 'run-record.ts'))}
  const [root, words] = process.argv.slice(1)
  const folder = root + '/r1'
  const isNew = words === 'begin'
  const lock = isNew ? undefined : RunLock.take(folder)
  const { state: before, seq } = isNew ? { state: NO_EVENTS, seq: 0 } : readRunState(folder)
  const stamp = makeStamp('r1', 'w-1', seq + 1)
  const record = isNew ? RunRecord.begin({ roots: [root], origins: new Origins({}) }, 'r1', stamp) : RunRecord.reopen(folder, stamp, lock, new Origins({}))
  let state = before
  const emit = (body) => {
    const event = stamp(body)
    state = next(state, event)
    record.append(event)
    record.checkpoint(state)
  }
  const begin = { version: '1', pid: 1, plan: {} }
  const steps = [{ step: 1, agent: 'a', maxIterations: 100000 }]
  if (isNew) emit({ type: 'run_started', schema: 1, cwd: '/', steps, ...begin })
  else emit({ type: 'run_resumed', ...begin })
  if (isNew) emit({ type: 'step_started', scope: ['s1'], step: 1, agent: 'a' })
  if (!isNew) console.log('ready')
  const bytes = Buffer.alloc(700_000, 'x')
  for (let iteration = state.steps[0].iterations || 1; ; iteration++) {
    const place = { scope: ['s1', 'i' + iteration], step: 1, iteration, attempt: 1 }
    emit({ type: 'iteration_started', ...place })
    for (let i = 0; i < 20; i++) {
      record.output({ ...place, stream: i % 2 ? 'err' : 'out', bytes })
      for (let j = 0; j < 30; j++) emit({ type: 'message', ...place, text: 'x'.repeat(j * 50) })
      record.flush()
      console.log('flushed')
    }
    const [trouble] = record.takeProblems()
    if (trouble) throw new Error(trouble.why)
    emit({ type: 'iteration_ended', ...place, outcome: { kind: 'exited', code: 0 }, ms: 1, outputBytes: 1 })
    // A new run is killed once it has a whole iteration.
    if (isNew && iteration === 1) console.log('ready')
  }
`

/** Drives the run until it has flushed so often, and is killed without a warning. */
async function driveAndDie(root: string, how: 'begin' | 'resume', flushes: number): Promise<void> {
  const child = Bun.spawn([process.execPath, '-e', DRIVER, root, how], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let said = ''
  const count = () => (said.split('ready\n')[1] ?? '').split('flushed\n').length - 1
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += text
    if (said.includes('ready\n') && count() >= flushes) break
  }
  child.kill('SIGKILL')
  expect(await child.exited).not.toBe(1)
}

test('a run whose processes are killed repeatedly has one complete record', async () => {
  const root = makeProject()
  const folder = join(root, 'r1')
  await driveAndDie(root, 'begin', 7)
  for (const flushes of [0, 5, 30]) await driveAndDie(root, 'resume', flushes)
  expect(holderOf(folder)?.life).toBe('dead')
  const lock = RunLock.take(folder) as RunLock
  const { seq, state } = readRunState(folder)
  const later = makeStamp('r1', 'w-2', seq + 1)
  const record = RunRecord.reopen(folder, later, lock, new Origins({}))
  record.append(later({ type: 'warning', text: 'I am the last' }))
  record.close()
  expect(record.takeProblems()).toEqual([])
  expect(holderOf(folder)).toBeUndefined()

  let numbers = 0
  let folded = NO_EVENTS
  for (const { event } of readEvents(folder)) {
    if (event.type === 'output') {
      const kept = readOutput(folder, event)
      if (kept !== undefined) expect(kept.every((byte) => byte === 120)).toBe(true)
    } else expect(event.seq).toBe(++numbers)
    if (event.type !== 'warning') folded = next(folded, event)
  }
  expect(numbers).toBe(seq + 1)
  expect(state).toEqual(JSON.parse(JSON.stringify(folded)))
  expect(state.steps[0]!.iterations).toBeGreaterThan(0)
  for (const line of readFileSync(join(folder, 'events.ndjson'), 'utf8').split('\n').slice(0, -1))
    expect(() => JSON.parse(line)).not.toThrow()
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  expect(names.filter((name) => name.includes('.tail-'))).toEqual([])
  expect(names.some((name) => /iterations\/\d+\.json$/.test(name))).toBe(true)
})

describe('a record that is opened again', () => {
  const begin = (events: readonly RunEvent[], rest: string) => {
    const root = makeProject()
    const record = RunRecord.begin(placesAt(root), 'r1', stamp)
    for (const event of events) record.append(event)
    record.close()
    const path = join(root, 'r1/events.ndjson')
    writeFileSync(path, readFileSync(path, 'utf8') + rest)
    return { folder: join(root, 'r1'), path }
  }
  const reopen = (folder: string) => {
    const record = RunRecord.reopen(folder, stamp, RunLock.take(folder) as RunLock, new Origins({}))
    record.append(EVENT)
    record.close()
    expect(record.takeProblems()).toEqual([])
  }
  const line = `${JSON.stringify(EVENT)}\n`

  test.each([
    ['loses a line that was cut off', '{"type":"warn', ''],
    ['loses the zeros of a power failure', '{"type"\0\0\0\0', ''],
    ['loses zeros alone', '\0\0\0\0', ''],
    ['keeps a line that lacks only its end', line.trimEnd(), line],
    ['keeps what is whole', line, line],
  ])('%s', (_, rest, kept) => {
    const { folder, path } = begin([EVENT], rest)
    reopen(folder)
    expect(readFileSync(path, 'utf8')).toBe(`${line}${kept}${line}`)
  })

  test('is gone: the run continues without one', () => {
    const { folder } = begin([EVENT], '')
    const lock = RunLock.take(folder) as RunLock
    rmSync(folder, { recursive: true })
    const record = RunRecord.reopen(folder, stamp, lock, new Origins({}))
    record.append(EVENT)
    expect(record.folder).toBeUndefined()
    expect(record.takeProblems()[0]?.why).toStartWith('ENOENT')
    record.close()
    expect(existsSync(folder)).toBe(false)
  })
})
