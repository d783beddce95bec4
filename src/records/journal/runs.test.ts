import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, writeFiles } from '../../../tests/support/project.ts'
import { placesAt } from '../../../tests/support/records.ts'
import { UserError } from '../../base/errors.ts'
import { holdFolder } from '../../base/linux/lock.ts'
import { makeStamp, type EventBody } from '../events/event.ts'
import { lockRecords } from './record-folder.ts'
import { RunLock } from './run-lock.ts'
import { RunRecord } from './run-record.ts'
import {
  findRun,
  listRuns,
  oldRecords,
  pruneRuns,
  readRuns,
  removeOldRuns,
  unreadableNewerThan,
} from './runs.ts'

const STARTED: EventBody = {
  type: 'run_started',
  schema: 1,
  version: '1.0.0',
  pid: 1,
  cwd: '/project',
  chain: 'build',
  steps: [{ step: 1, agent: 'a' }],
  plan: {},
}
const ended = (ok: boolean): EventBody => ({
  type: 'run_ended',
  ok,
  exitCode: ok ? 0 : 1,
  leftovers: [],
})
const STEP_ENDED: EventBody = {
  type: 'step_ended',
  scope: ['s1'],
  step: 1,
  agent: 'a',
  reason: 'single_run',
  iterations: 1,
  failures: 0,
}
const STOPPED: EventBody = {
  type: 'run_ended',
  ok: false,
  exitCode: 1,
  stopped: { words: 'stopped on request' },
  leftovers: [],
}
const WAITING: EventBody = {
  type: 'waiting',
  scope: ['s1', 'i1'],
  step: 1,
  iteration: 1,
  attempt: 1,
  why: 'quota',
  until: new Date(0).toISOString(),
  error: 'x',
}

/** A run whose process has gone, or, where it is left open, one that this process drives. */
function record(root: string, id: string, bodies: readonly EventBody[], isLeftOpen = false) {
  const stamp = makeStamp(id, 'w-1')
  const run = RunRecord.begin(placesAt(root), id, stamp)
  for (const body of [STARTED, ...bodies]) run.append(stamp(body))
  if (!isLeftOpen) run.close()
  return run
}

/** The lock of a crashed process. */
const DEAD_LOCK = JSON.stringify({ pid: 1, identity: '', since: '' })

test('a run that was killed before its first event is not reported as unreadable', () => {
  const root = makeProject()
  record(root, '1-failed', [ended(false)])
  writeFiles(root, { '2-killed/events.ndjson': '', '2-killed/lock': DEAD_LOCK })
  placesAt(root).origins.sign(join(root, '2-killed'), undefined)
  expect(unreadableNewerThan(placesAt(root))).toEqual([])
})

test('runs are listed with their status, newest first', () => {
  const root = makeProject()
  record(root, '1-complete', [STEP_ENDED, ended(true)])
  record(root, '2-failed', [ended(false)])
  record(root, '3-stopped', [STOPPED])
  record(root, '4-dead', [])
  writeFileSync(join(root, '4-dead/lock'), DEAD_LOCK)
  record(root, '5-dead-waiting', [WAITING])
  const open = [record(root, '6-running', [], true), record(root, '7-waiting', [WAITING], true)]
  const runs = listRuns(placesAt(root))
  expect(readRuns(placesAt(root), (folder) => folder.endsWith('/2-failed')).runs).toEqual([
    runs[5]!,
  ])
  expect(runs.map(({ id, status }) => [id, status])).toEqual([
    ['7-waiting', 'waiting'],
    ['6-running', 'running'],
    ['5-dead-waiting', 'dead'],
    ['4-dead', 'dead'],
    ['3-stopped', 'stopped'],
    ['2-failed', 'failed'],
    ['1-complete', 'complete'],
  ])
  expect(runs.map(({ holder }) => holder?.pid)).toEqual([
    process.pid,
    process.pid,
    ...Array.from({ length: 5 }, () => undefined),
  ])
  expect(runs[0]).toMatchObject({ folder: join(root, '7-waiting'), state: { chain: 'build' } })
  for (const run of open) run.close()
})

test('other folders are not listed, and unreadable records are named', () => {
  const root = makeProject()
  record(root, 'r2', [ended(true)])
  writeFiles(root, {
    'some-file': '',
    'some-folder/x': '',
    'r1/events.ndjson': 'what is this?\n',
    'r3/events.ndjson': '{"type":"of the future"}\n',
    'r4/events.ndjson': '',
    'r5/events.ndjson/x': '',
  })
  const { runs, broken } = readRuns(placesAt(root))
  expect(runs.map(({ id }) => id)).toEqual(['r2'])
  expect(broken).toEqual(['r5', 'r4', 'r3', 'r1'])
  expect(listRuns(placesAt(root))).toEqual(runs)
})

test('a run without an event yet counts as running', () => {
  const root = makeProject()
  const run = RunRecord.begin(placesAt(root), 'r1', makeStamp('r1', 'w-1'))
  expect(listRuns(placesAt(root))).toMatchObject([{ id: 'r1', status: 'running' }])
  run.close()
  expect(readRuns(placesAt(root))).toEqual({ runs: [], broken: ['r1'] })
})

test('without records there are no runs', async () => {
  const root = join(makeProject(), 'runs')
  expect([listRuns(placesAt(root)), await prune(root, 0)]).toEqual([[], []])
  expect(() => findRun(placesAt(root), undefined)).toThrow(new UserError('There are no runs yet.'))
})

describe('a run is found', () => {
  const IDS = ['20260101-080000-aaaaa', '20260101-090000-bbbbb', '20260102-080000-abbbb']
  const make = () => {
    const root = makeProject()
    for (const id of IDS) record(root, id, [ended(true)])
    return root
  }

  test.each([
    [undefined, IDS[2]],
    [IDS[0], IDS[0]],
    ['20260102', IDS[2]],
    ['20260101-09', IDS[1]],
    ['aaaaa', IDS[0]],
    ['bbbbb', IDS[1]],
  ])('by %p: %s', (word, id) => {
    expect(findRun(placesAt(make()), word).id).toBe(id!)
  })

  test.each([
    ['bbbb', "Several runs match 'bbbb'.", `${IDS[2]}, ${IDS[1]}`],
    ['20260101', "Several runs match '20260101'.", `${IDS[1]}, ${IDS[0]}`],
    ['nope', "No run matches 'nope'.", `${IDS[2]}, ${IDS[1]}, ${IDS[0]}`],
    ['latest', "No run matches 'latest'.", `${IDS[2]}, ${IDS[1]}, ${IDS[0]}`],
    ['', "No run matches ''.", `${IDS[2]}, ${IDS[1]}, ${IDS[0]}`],
    ['..', "No run matches '..'.", `${IDS[2]}, ${IDS[1]}, ${IDS[0]}`],
  ])('not by %p', (word, message, ids) => {
    let error: unknown
    try {
      findRun(placesAt(make()), word)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(UserError)
    const advice = word === 'latest' ? 'Leave it out for the newest run.\n' : ''
    expect(error).toMatchObject({ message, hint: `${advice}Runs, newest first: ${ids}` })
  })

  test('as the newest readable one, and an unreadable one is reported', () => {
    const root = make()
    writeFiles(root, { '20260103-080000-ccccc/events.ndjson': '' })
    expect(findRun(placesAt(root), undefined).id).toBe(IDS[2]!)
    expect(() => findRun(placesAt(root), 'ccccc')).toThrow(
      'The record of run 20260103-080000-ccccc cannot be read.',
    )
  })
})

const prune = async (root: string, keep: number) =>
  (await pruneRuns(placesAt(root), oldRecords(placesAt(root), keep))).removed

describe('old runs are removed', () => {
  test('all but the newest, and never an active one', async () => {
    const root = makeProject()
    for (const id of ['r1', 'r2', 'r4', 'r5']) record(root, id, [ended(true)])
    const open = record(root, 'r3', [], true)
    writeFileSync(join(root, 'r2/lock'), DEAD_LOCK)
    expect(await prune(root, 1)).toEqual(['r4', 'r2', 'r1'])
    expect(readdirSync(root).toSorted()).toEqual(['.gitignore', 'r3', 'r5'])
    expect(existsSync(join(root, 'r3/lock'))).toBe(true)
    open.close()
    expect(await prune(root, 0)).toEqual(['r5', 'r3'])
  })

  test('unless something is queued in one before it can be locked', async () => {
    const root = makeProject()
    record(root, 'r1', [ended(true)])
    let why: string | undefined
    const unlock = await lockRecords(root)
    const pruning = pruneRuns(placesAt(root), [join(root, 'r1')], () => why)
    why = 'a task is queued in it'
    unlock()
    expect(await pruning).toEqual({ removed: [], failed: [] })
    expect(readdirSync(root).toSorted()).toEqual(['.gitignore', 'r1'])
  })

  test('by one process only, and the others do not report a failure', async () => {
    const root = makeProject()
    const ids = ['r1', 'r2', 'r3', 'r4']
    for (const id of ids) record(root, id, [ended(true)])
    const folders = ids.map((id) => join(root, id))
    const all = await Promise.all([1, 2, 3].map(() => pruneRuns(placesAt(root), folders)))
    expect(all.flatMap(({ removed }) => removed).toSorted()).toEqual(ids)
    expect(all.flatMap(({ failed }) => failed)).toEqual([])
  })

  test('but no other files', async () => {
    const root = makeProject({ 'notes/x': '', file: '' })
    record(root, 'r1', [ended(true)])
    expect(await prune(root, 0)).toEqual(['r1'])
    expect(readdirSync(root).toSorted()).toEqual(['.gitignore', 'file', 'notes'])
  })

  test('including those that a killed process left half removed', async () => {
    const root = makeProject({ '.removed-r0/steps/x': '' })
    expect(await prune(root, 10)).toEqual([])
    expect(readdirSync(root)).toEqual([])
  })

  test('but not one that a live process is removing', async () => {
    const root = makeProject({ '.removed-r0/steps/x': '' })
    const giveBack = holdFolder(join(root, '.removed-r0'))
    await prune(root, 10)
    expect(readdirSync(root)).toEqual(['.removed-r0'])
    giveBack?.()
  })

  test('by every new run, so that the newest 50 are left', async () => {
    const root = makeProject()
    const ids = Array.from({ length: 53 }, (_, i) => `r${String(i).padStart(2, '0')}`)
    const open = record(root, ids[0]!, [], true)
    for (const id of ids.slice(1, -1)) {
      writeFiles(root, { [`${id}/events.ndjson`]: '' })
      placesAt(root).origins.sign(join(root, id), undefined)
    }
    const last = record(root, ids.at(-1)!, [])
    expect(last.takeProblems()).toEqual([])
    await removeOldRuns(placesAt(root))
    const left = readdirSync(root).filter((name) => name.startsWith('r'))
    expect(left.toSorted()).toEqual([ids[0]!, ...ids.slice(-50)])
    open.close()
  })

  test('whatever replaces their files', async () => {
    const root = makeProject()
    for (const id of ['r1', 'r2', 'r3']) record(root, id, [ended(true)])
    writeFiles(root, { 'r2/lock/x': 'a folder in its place' })
    expect(await prune(root, 0)).toEqual(['r3', 'r2', 'r1'])
    expect(readdirSync(root)).toEqual(['.gitignore'])
  })
})

test('a run that is about to be resumed is not removed', async () => {
  const root = makeProject()
  record(root, 'r1', [ended(true)])
  const lock = RunLock.take(join(root, 'r1'))
  expect(await prune(root, 0)).toEqual([])
  ;(lock as RunLock).release()
  expect(await prune(root, 0)).toEqual(['r1'])
})
