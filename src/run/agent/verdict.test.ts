import { expect, test } from 'bun:test'
import type { Fact } from '../../engines/engine.ts'
import type { Outcome, Refusal } from '../../records/events/schema.ts'
import type { Exit } from '../process/child.ts'
import { Verdict } from './verdict.ts'

const MARKER: Fact = { type: 'marker' }
const FENCED: Fact = { type: 'marker', isInOpenFence: true }
const FENCED_BLOCK: Fact = { type: 'blocked', reason: 'x', isInOpenFence: true }
const refused = (why: Refusal): Fact => ({ type: 'marker_refused', why })

function judge(...facts: Fact[]): Verdict {
  const verdict = new Verdict()
  verdict.take(facts)
  return verdict
}

const DONE: Outcome = { kind: 'marker' }
const OK: Exit = { kind: 'exited', code: 0 }
const FAILED: Exit = { kind: 'exited', code: 3 }
const KILLED: Exit = { kind: 'signalled', signal: 'SIGKILL' }

test.each<[string, Fact[], Exit | undefined, Outcome]>([
  ['went well', [], OK, OK],
  ['failed', [], FAILED, FAILED],
  ['was killed', [], KILLED, KILLED],
  ['only spoke of the marker', [refused('quotes')], OK, OK],
  ['said so and went well', [MARKER], OK, DONE],
  ['said so and failed', [MARKER], FAILED, DONE],
  ['said so and had to be ended', [MARKER], KILLED, DONE],
  ['said so before the run was stopped', [MARKER], undefined, DONE],
  ['was stopped', [], undefined, { kind: 'interrupted' }],
  ['left a fence open and went well', [FENCED], OK, DONE],
  ['left a fence open and failed', [FENCED], FAILED, FAILED],
  ['left a fence open and was killed', [FENCED], KILLED, KILLED],
  ['left a fence open and was stopped', [FENCED], undefined, { kind: 'interrupted' }],
  ['was blocked in an open fence', [FENCED_BLOCK], OK, { kind: 'blocked', reason: 'x' }],
  ['was killed while it quoted a block', [FENCED_BLOCK], KILLED, KILLED],
])('an agent that %s has one outcome', (_, facts, exit, outcome) => {
  expect(judge(...facts).outcome(exit)).toEqual(outcome)
})

test.each<[Fact[], Refusal | undefined]>([
  [[], undefined],
  [[MARKER], undefined],
  [[refused('longer_line')], 'longer_line'],
  [[refused('stderr'), refused('quotes')], 'stderr'],
  [[MARKER, refused('longer_line')], undefined],
  [[refused('longer_line'), MARKER], undefined],
  [[MARKER, refused('code_fence')], 'code_fence'],
  [[MARKER, refused('stderr')], 'stderr'],
  [[FENCED], undefined],
])('%j is reported as %p', (facts, refusal) => {
  expect(judge(...facts).refusal(OK)).toBe(refusal)
})

const limit = (status: string): Fact => ({ type: 'limit', status, resetsAt: 99 })
const BROKE: Fact = { type: 'failure', failure: { kind: 'error', message: 'It broke.' } }

test.each<[string, Fact[], Exit, Outcome]>([
  [
    'a failure without words',
    [limit('rejected')],
    FAILED,
    { kind: 'rate_limited', error: 'refused', resetsAt: 99 },
  ],
  [
    'a failure with others',
    [limit('rejected'), BROKE],
    OK,
    { kind: 'rate_limited', error: 'It broke.', resetsAt: 99 },
  ],
  ['nothing after a success', [limit('rejected')], OK, OK],
  [
    'nothing once it was allowed again',
    [limit('rejected'), limit('allowed'), BROKE],
    FAILED,
    { ...FAILED, error: 'It broke.' },
  ],
])('a rejection by a rate limit explains %s', (_, facts, exit, outcome) => {
  expect(judge(...facts).outcome(exit)).toEqual(outcome)
})

test('the marker promise settles as soon as the marker is printed', async () => {
  const verdict = judge(refused('quotes'))
  let isSettled = false
  const settled = verdict.marker.then(() => (isSettled = true))
  await Promise.resolve()
  expect(isSettled).toBe(false)
  verdict.take([MARKER])
  verdict.take([MARKER])
  expect(await settled).toBe(true)
})

test('a fact of an unknown type is a bug', () => {
  expect(() => judge({ type: 'new' } as never)).toThrow('not handled')
})
