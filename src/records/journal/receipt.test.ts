import { describe, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, writeFiles } from '../../../tests/support/project.ts'
import { makeStamp, type EventBody } from '../events/event.ts'
import { Journal } from './journal.ts'
import { readReceipt } from './receipt.ts'

const stamp = makeStamp('r1', 'w-1')
const PLACE = { scope: ['s1', 'i2'], step: 1, iteration: 2, attempt: 1 }
const STARTED: EventBody = {
  type: 'iteration_started',
  ...PLACE,
  pid: 7,
  argv: ['/bin/agent', 'Do it'],
  prompt: { level: 'chain', file: 'p.md' },
  promptHash: 'abc',
}
const ENDED: EventBody = {
  type: 'iteration_ended',
  ...PLACE,
  outcome: { kind: 'exited', code: 3 },
  ms: 5,
  outputBytes: 5,
}
const VERIFY: EventBody = {
  type: 'command',
  scope: ['s1', 'i2'],
  step: 1,
  iteration: 2,
  role: 'verify',
  command: 'npm test',
  result: 'failed',
  detail: 'exit 1',
  ms: 12,
  tail: '1 failed',
}

/** Writes these events; returns the folder of the run and the stamped events. */
function record(bodies: readonly EventBody[], folder = makeProject()) {
  const journal = new Journal(folder, stamp)
  const events = bodies.map((body) => stamp(body))
  for (const event of events) journal.append(event)
  journal.close()
  return { folder, events }
}

test('a receipt describes an attempt of an iteration', () => {
  const folder = makeProject()
  const journal = new Journal(folder, stamp)
  journal.prompt('abc', 'Do it')
  const started = stamp(STARTED)
  journal.append(started)
  journal.output({ ...PLACE, stream: 'out', bytes: Buffer.from('hello') })
  journal.append(stamp(VERIFY))
  const usage = {
    session: 'x1',
    model: 'm',
    turns: 3,
    costUsd: 0.5,
    billing: 'subscription' as const,
    tokens: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
  }
  const changes = { head: 'f00', commits: 1, files: ['a.ts'], fileCount: 1 }
  const ends = { reason: 'agent_failed' as const }
  const ended = stamp({ ...ENDED, usage, changes, ends, tasks: ['task-1'] })
  journal.append(ended)
  journal.close()
  const receipt: unknown = readReceipt(folder, { step: 1, iteration: 2 })
  expect(receipt).toEqual({
    schema: 1,
    run: 'r1',
    scope: ['s1', 'i2'],
    step: 1,
    round: 1,
    iteration: 2,
    attempt: 1,
    argv: ['/bin/agent', 'Do it'],
    prompt: { level: 'chain', file: 'p.md', hash: 'abc', path: 'prompts/abc.txt' },
    outcome: { kind: 'exited', code: 3 },
    exitCode: 3,
    ends,
    startedAt: started.at,
    endedAt: ended.at,
    ms: 5,
    ...usage,
    changes,
    commands: [
      {
        role: 'verify',
        command: 'npm test',
        result: 'failed',
        detail: 'exit 1',
        ms: 12,
        tail: '1 failed',
      },
    ],
    tasks: ['task-1'],
    outputBytes: 5,
    log: 'steps/1/iterations/2.log',
  })
})

test('a receipt is readable text, and private', () => {
  const { folder } = record([STARTED, ENDED])
  const path = join(folder, 'steps/1/iterations/2.json')
  expect(readFileSync(path, 'utf8')).toStartWith('{\n  "schema": 1,\n  "run": "r1",\n')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a prompt that was not kept is not referred to', () => {
  const { folder } = record([STARTED, ENDED])
  const receipt = readReceipt(folder, { step: 1, iteration: 2 })
  const prompt: unknown = receipt?.prompt
  expect(prompt).toEqual({ level: 'chain', file: 'p.md', hash: 'abc' })
  expect(receipt).not.toContainKeys(['log', 'model', 'changes'])
})

test('an iteration without a recorded start has a receipt too', () => {
  const { folder, events } = record([ENDED])
  const receipt = readReceipt(folder, { step: 1, iteration: 2 })
  expect(Date.parse(receipt!.startedAt)).toBe(Date.parse(events[0]!.at) - 5)
  expect(receipt).not.toContainKeys(['argv', 'prompt'])
})

describe('each attempt and each round has a receipt of its own', () => {
  const at = (more: object): EventBody[] => [
    { ...STARTED, ...more },
    { ...ENDED, ...more },
  ]
  test.each([
    [{ attempt: 2 }, 'steps/1/iterations/2.2.json', [1, 2, 2]],
    [{ round: 2 }, 'steps/1/round-2/iterations/2.json', [1, 2, 1, 2]],
    [{ round: 3, attempt: 2 }, 'steps/1/round-3/iterations/2.2.json', [1, 2, 2, 3]],
  ] as const)('%j in %s', (more, name, args) => {
    const { folder } = record([...at({}), ...at(more)])
    const [step, iteration, attempt, round] = args
    expect(readReceipt(folder, { step, iteration, attempt, round })).toMatchObject(more)
    expect(readReceipt(folder, { step, iteration })).toMatchObject({ attempt: 1, round: 1 })
    expect(statSync(join(folder, name)).isFile()).toBe(true)
  })
})

test('a command is in the receipt of its iteration', () => {
  const other = { ...STARTED, scope: ['s2', 'i2'], step: 2 }
  const { folder } = record([
    { ...VERIFY, command: 'too early' },
    STARTED,
    other,
    VERIFY,
    { ...VERIFY, scope: ['s2'], step: 2, command: 'of another step' },
    { ...VERIFY, iteration: undefined, command: 'of the whole step' },
    ENDED,
    { ...VERIFY, command: 'too late' },
    { ...ENDED, scope: ['s2', 'i2'], step: 2 },
  ])
  const commands = (step: number) =>
    readReceipt(folder, { step, iteration: 2 })?.commands.map((c) => c.command)
  expect([commands(1), commands(2)]).toEqual([['npm test'], ['of another step']])
})

test('a command is in the receipt of its copy of a step', () => {
  const of = (body: EventBody, copy: number) =>
    ({ ...body, scope: ['s1', `c${copy}`, 'i2'] }) as EventBody
  const bodies = [STARTED, VERIFY, ENDED]
  const { folder } = record(bodies.flatMap((body) => [of(body, 1), of(body, 2)]))
  for (const copy of [1, 2]) {
    const place = { scope: ['s1', `c${copy}`], step: 1, iteration: 2 }
    expect(readReceipt(folder, place)?.commands).toHaveLength(1)
  }
})

test('a receipt that cannot be written is rebuilt from the events', () => {
  const folder = makeProject()
  mkdirSync(join(folder, 'steps/1/iterations/2.json'), { recursive: true })
  record([STARTED, ENDED], folder)
  expect(readReceipt(folder, { step: 1, iteration: 2 })).toMatchObject({
    exitCode: 3,
    argv: ['/bin/agent', 'Do it'],
  })
})

test('the receipt of an attempt without a recorded end is replaced', () => {
  const folder = makeProject({ 'steps/1/iterations/2.json': '{ "torn' })
  expect(readReceipt(folder, { step: 1, iteration: 2 })).toBeUndefined()
  record([STARTED, ENDED], folder)
  expect(readReceipt(folder, { step: 1, iteration: 2 })).toMatchObject({ exitCode: 3 })
})

test.each([[''], ['{ "torn']])(
  'a receipt that a power failure left as %p comes from the events',
  (torn) => {
    const folder = makeProject()
    record([STARTED, ENDED], folder)
    const receipt = readReceipt(folder, { step: 1, iteration: 2 })
    writeFiles(folder, { 'steps/1/iterations/2.json': torn })
    expect(readReceipt(folder, { step: 1, iteration: 2 })).toEqual(
      JSON.parse(JSON.stringify(receipt)),
    )
    expect(readReceipt(folder, { step: 1, iteration: 3 })).toBeUndefined()
  },
)

test('a missing receipt is undefined', () => {
  const folder = makeProject()
  writeFiles(folder, { 'events.ndjson': '' })
  expect(readReceipt(folder, { step: 1, iteration: 1 })).toBeUndefined()
})
