import { expect, test } from 'bun:test'
import { NEW_GROUP, type GroupState } from '../records/events/group-state.ts'
import { NO_EVENTS, stepAt } from '../records/events/state.ts'
import type { StepState } from '../records/events/step-state.ts'
import { describeCopies, describeRounds } from './copies.ts'

/** Copies of a step, each as its fields. */
const copiesOf = (...copies: Partial<StepState>[]): StepState[] =>
  copies.map((fields, index) => ({
    ...stepAt(NO_EVENTS, { id: 's1', number: 1, copy: index + 1 }),
    agent: 'build',
    maxIterations: 5,
    iterations: 2,
    ...fields,
  }))

const DONE = { reason: 'marker' } as const
const OVER = { reason: 'max_iterations' } as const
const once = { maxIterations: undefined, iterations: 1 }

test.each<[string, Partial<StepState>[], string]>([
  ['all complete', [DONE, DONE], 'complete (2 copies, 4 iterations)'],
  [
    'all complete, without loops',
    [
      { ...once, reason: 'single_run' },
      { ...once, reason: 'single_run' },
    ],
    'complete (2 copies)',
  ],
  ['one is alone', [DONE], 'complete (2/5 iterations, marker)'],
  [
    'some fail',
    [DONE, OVER, { reason: 'stalled', detail: 'no progress' }, OVER],
    '1 of 4 copies complete (8 iterations); #2, #4: max iterations reached; #3: stalled: no progress',
  ],
  [
    'all fail in the same way',
    [OVER, OVER],
    'incomplete (2 copies, 4 iterations, max iterations reached)',
  ],
  ['none has begun', [{ reason: 'skipped', iterations: 0 }, { iterations: 0 }], 'not started'],
  [
    'all are skipped',
    [
      { isPassed: true, detail: 'when: false' },
      { isPassed: true, detail: 'when: false' },
    ],
    'skipped (when: false), 2 copies',
  ],
  [
    'there is nothing to do',
    [
      { reason: 'until', iterations: 0, detail: 'no tasks' },
      { reason: 'until', iterations: 0, detail: 'no tasks' },
    ],
    'not started: no tasks, 2 copies',
  ],
  [
    'many fail',
    [DONE, ...Array.from({ length: 7 }, () => OVER)],
    '1 of 8 copies complete (16 iterations); #2, #3, #4, #5, #6 and 2 more: max iterations reached',
  ],
])('the copies of a step if %s', (_, copies, words) => {
  expect(describeCopies(copiesOf(...copies))).toBe(words)
})

const group = (fields: Partial<GroupState>): GroupState => ({
  ...NEW_GROUP,
  id: 'g1',
  key: 'g1',
  list: '',
  kind: 'sequence',
  first: 1,
  last: 2,
  at: 1,
  ...fields,
})

test.each<[GroupState[], string[]]>([
  [[group({ round: 1, reason: 'marker' })], []],
  [[group({ maxRounds: 3, round: 2, reason: 'marker' })], ['Steps 1-2: complete (2/3 rounds)']],
  [
    [group({ maxRounds: 3, round: 4, usedRounds: 3, name: 'work' })],
    ['Steps 1-2 (work): incomplete (4/6 rounds)'],
  ],
  [[group({ maxRounds: 3 })], ['Steps 1-2: not started']],
  [
    [
      group({ maxRounds: 3, round: 2, reason: 'marker', key: 'g1/c1' }),
      group({ maxRounds: 3, round: 3, reason: 'max_iterations', key: 'g1/c2' }),
    ],
    ['Steps 1-2: incomplete (2 copies, 5 rounds)'],
  ],
  [
    [group({ maxRounds: 2, round: 2, reason: 'marker', first: 2 })],
    ['Step 2: complete (2/2 rounds)'],
  ],
])('the rounds of %j', (groups, lines) => {
  expect(describeRounds({ ...NO_EVENTS, groups }, 2)).toEqual(lines)
  expect(describeRounds({ ...NO_EVENTS, groups }, 1)).toEqual([])
})
