import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { placesAt } from '../../../tests/support/records.ts'
import { makeStamp } from '../events/event.ts'
import { Origins } from './origins.ts'
import { holderOf } from './run-lock.ts'
import { RunRecord } from './run-record.ts'

const stamp = makeStamp('r1', 'w-1')
const EVENT = stamp({ type: 'warning', text: 'hello' })
const CHUNK = {
  scope: [],
  step: 1,
  iteration: 1,
  attempt: 1,
  stream: 'out' as const,
  bytes: Buffer.from('text'),
}

test('a run is recorded in a folder of its own', () => {
  const root = join(makeProject(), 'deep/runs')
  const record = RunRecord.begin(placesAt(root), 'r1', stamp)
  record.append(EVENT)
  record.output(CHUNK)
  record.close()
  expect(record.folder).toBe(join(root, 'r1'))
  expect(record.takeProblems()).toEqual([])
  expect(readFileSync(join(root, 'r1/events.ndjson'), 'utf8')).toStartWith(
    `${JSON.stringify(EVENT)}\n`,
  )
  expect(readFileSync(join(root, 'r1/steps/1/iterations/1.log'), 'utf8')).toBe('text')
})

describe('if the record cannot be written', () => {
  test('the run continues, and the problem is reported once', () => {
    const root = join(makeProject({ file: '' }), 'file')
    const record = RunRecord.begin(placesAt(root), 'r1', stamp)
    expect(record.folder).toBeUndefined()
    expect(record.takeProblems()).toMatchObject([
      { why: expect.stringMatching(/^(ENOTDIR|EEXIST)/) },
    ])
    record.append(EVENT)
    record.output(CHUNK)
    record.close()
    expect(record.takeProblems()).toEqual([])
  })

  test('in part, the rest is written, and that part later', () => {
    const root = makeProject()
    const record = RunRecord.begin(placesAt(root), 'r1', stamp)
    const steps = join(root, 'r1/steps')
    writeFileSync(steps, 'a file where a folder is needed')
    const place = { scope: ['s1', 'i1'], step: 1, iteration: 1, attempt: 1 }
    const end = { outcome: { kind: 'marker' as const }, ms: 1, outputBytes: 1 }
    const ended = stamp({ type: 'iteration_ended', ...place, ...end })
    record.output(CHUNK)
    record.append(ended)
    const why = expect.stringMatching(/^(ENOTDIR|EEXIST)/) as string
    expect(record.takeProblems()).toEqual([{ kind: 'behind', why }])
    expect(readFileSync(join(root, 'r1/events.ndjson'), 'utf8')).toBe(`${JSON.stringify(ended)}\n`)
    record.flush()
    rmSync(steps)
    record.flush()
    record.settle()
    expect(record.takeProblems()).toEqual([
      { kind: 'back', why },
      { kind: 'gaps', why },
    ])
    expect(existsSync(join(steps, '1/iterations/1.json'))).toBe(true)
    record.close()
  })

  test('because an agent removed it, nothing is thrown', () => {
    const root = makeProject()
    const record = RunRecord.begin(placesAt(root), 'r1', stamp)
    rmSync(root, { recursive: true })
    record.append(EVENT)
    record.output(CHUNK)
    expect(() => record.close()).not.toThrow()
    expect(record.takeProblems()).toEqual([
      { kind: 'lost', why: `${join(root, 'r1')} was deleted` },
    ])
    expect(existsSync(root)).toBe(false)
  })

  test('because there is no folder for it, that is the problem', () => {
    const record = RunRecord.begin({ roots: [], origins: new Origins({}) }, 'r1', stamp)
    const why = 'HOME is not an absolute path'
    expect([record.folder, record.takeProblems()]).toEqual([undefined, [{ kind: 'lost', why }]])
    record.output(CHUNK)
    record.flush()
    record.close()
    expect(record.takeProblems()).toEqual([])
  })
})

describe('the process that records a run holds its lock', () => {
  test('until the record is closed', () => {
    const root = makeProject()
    const record = RunRecord.begin(placesAt(root), 'r1', stamp)
    expect(holderOf(record.folder!)).toMatchObject({ pid: process.pid, life: 'alive' })
    record.append(EVENT)
    record.close()
    expect(holderOf(record.folder!)).toBeUndefined()
    expect(readdirSync(record.folder!).toSorted()).toEqual(['events.ndjson', 'signature'])
  })

  test('even if the record is lost', () => {
    const root = makeProject()
    const record = RunRecord.begin(placesAt(root), 'r1', stamp)
    writeFileSync(join(root, 'r1/steps'), 'a file where a folder is needed')
    record.output(CHUNK)
    expect(record.takeProblems()).toHaveLength(1)
    expect(holderOf(record.folder!)?.life).toBe('alive')
    record.close()
    expect(holderOf(record.folder!)).toBeUndefined()
  })
})

/** Fills a small disk with the record of a run, then makes room, and looks at what is there. */
const FILL = `
  import { rmSync } from 'node:fs'
  import { makeStamp } from ${JSON.stringify(join(import.meta.dir, '../events/event.ts'))}
  import { readRunState } from ${JSON.stringify(join(import.meta.dir, 'read-run.ts'))}
  import { RunLock } from ${JSON.stringify(join(import.meta.dir, 'run-lock.ts'))}
  import { Origins } from ${JSON.stringify(join(import.meta.dir, 'origins.ts'))}
  import { RunRecord } from ${JSON.stringify(join(import.meta.dir, 'run-record.ts'))}
  const stamp = makeStamp('r1', 'w-1')
  const record = RunRecord.begin({ roots: ['disk'], origins: new Origins({}) }, 'r1', stamp)
  const troubles = []
  for (let i = 1; i < 1500; i++) {
    const place = { scope: ['s1', 'i' + i], step: 1, iteration: i, attempt: 1 }
    record.output({ ...place, stream: 'out', bytes: Buffer.alloc(5000) })
    const end = { outcome: { kind: 'marker' }, ms: 1, outputBytes: 1 }
    record.append(stamp({ type: 'iteration_ended', ...place, ...end }))
    troubles.push(...record.takeProblems())
  }
  record.settle()
  record.close()
  troubles.push(...record.takeProblems())
  const { seq } = readRunState('disk/r1')
  rmSync('disk/r1/steps', { recursive: true })
  const later = makeStamp('r1', 'w-2', seq + 1)
  const again = RunRecord.reopen('disk/r1', later, RunLock.take('disk/r1'), new Origins({}))
  again.append(later({ type: 'warning', text: 'x' }))
  again.close()
  const isGoneOn = readRunState('disk/r1').seq === seq + 1
  console.log(JSON.stringify({ troubles, isGoneOn, later: again.takeProblems() }))
`

test('on a full disk the run continues, and its record once there is space', async () => {
  const cwd = makeProject({ 'disk/x': '', 'fill.ts': FILL })
  const script = 'mount -t tmpfs -o size=512k none disk && exec "$0" fill.ts'
  const child = Bun.spawn(['unshare', '-rm', 'sh', '-c', script, process.execPath], {
    cwd,
    stdout: 'pipe',
    stderr: 'inherit',
  })
  expect(JSON.parse(await child.stdout.text())).toEqual({
    troubles: ['behind', 'torn'].map((kind) => ({ kind, why: expect.stringMatching(/^ENOSPC/) })),
    isGoneOn: true,
    later: [],
  })
  expect(await child.exited).toBe(0)
})
