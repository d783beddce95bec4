import { expect, test } from 'bun:test'
import type { Attempt } from '../records/events/attempts.ts'
import { describeAttempt } from './attempts.ts'

const EXITED = { kind: 'exited', code: 0 } as const
const ran = (role: 'verify' | 'until', result: 'ok' | 'failed') => [
  { role, command: 'npm test', result, detail: result === 'ok' ? 'exit 0' : 'exit 1', ms: 1 },
]

const CASES: readonly (readonly [Partial<Attempt>, string, string])[] = [
  [{}, 'running', 'yellow'],
  [{ isKilled: true }, 'killed with its run', 'red'],
  [{ outcome: { kind: 'marker' } }, 'marker', 'green'],
  [{ outcome: EXITED }, 'exit 0', 'dim'],
  [{ outcome: EXITED, ends: { reason: 'single_run' } }, 'exit 0', 'green'],
  [{ outcome: { kind: 'exited', code: 3 } }, 'exit 3', 'red'],
  [{ outcome: EXITED, again: true }, 'exit 0, does not count', 'dim'],
  [
    { outcome: EXITED, refusal: 'gate', commands: ran('verify', 'failed') },
    'marker refused: npm test exit 1',
    'yellow',
  ],
  [{ outcome: EXITED, refusal: 'tasks_ready' }, 'marker refused: tasks are still ready', 'dim'],
  [{ outcome: EXITED, refusal: 'code_fence' }, 'marker refused: inside a code fence', 'yellow'],
  [
    {
      outcome: EXITED,
      commands: ran('verify', 'failed'),
      ends: { reason: 'gate_failed', detail: 'exit 1' },
    },
    'check failed: npm test exit 1',
    'red',
  ],
  [
    {
      outcome: EXITED,
      commands: ran('until', 'ok'),
      ends: { reason: 'until', detail: 'npm test' },
    },
    'until succeeded: npm test',
    'green',
  ],
  [
    { outcome: EXITED, ends: { reason: 'until', detail: 'all tasks are done' } },
    'complete: all tasks are done',
    'green',
  ],
  [
    { outcome: { kind: 'rate_limited', error: 'later' }, again: true },
    'limit reached: later',
    'yellow',
  ],
  [{ outcome: { kind: 'blocked', reason: 'no key' } }, 'blocked: no key', 'red'],
  [
    { outcome: { kind: 'spawn_failed', error: 'not found' } },
    'could not be started: not found',
    'red',
  ],
  [
    { outcome: { kind: 'marker' }, merge: { result: 'conflict', files: ['a.ts'] } },
    'not merged: conflict in a.ts',
    'yellow',
  ],
]

test.each(CASES)('%j is %p, in %s', (attempt, words, look) => {
  const shown = describeAttempt({ commands: [], ...attempt })
  expect([shown.words, shown.look]).toEqual([words, look])
})
