import { expect, test } from 'bun:test'
import type { Outcome } from '../../records/events/schema.ts'
import { endOfTurn } from './task-end.ts'

const turned = (outcome: Outcome, said = '') => ({
  outcome,
  unmarked: outcome,
  outputBytes: said.length,
  finalMessage: { text: said },
})

test.each<[Outcome, string]>([
  [{ kind: 'overloaded', error: 'busy' }, 'transient'],
  [{ kind: 'rate_limited', error: 'limit' }, 'transient'],
  [{ kind: 'timed_out', ms: 5000 }, 'timeout'],
  [{ kind: 'idle', ms: 5000 }, 'timeout'],
  [{ kind: 'budget', error: 'spent' }, 'budget'],
  [{ kind: 'auth_failed', error: 'no login' }, 'fatal'],
  [{ kind: 'max_turns', error: 'no more' }, 'fatal'],
  [{ kind: 'exited', code: 3 }, 'fatal'],
  [{ kind: 'exited', code: 0, error: 'it says so itself' }, 'fatal'],
  [{ kind: 'signalled', signal: 'SIGSEGV' }, 'fatal'],
  [{ kind: 'blocked', reason: 'no key' }, 'fatal'],
  [{ kind: 'spawn_failed', error: 'gone' }, 'fatal'],
])('%j fails a task as %s and keeps the partial output', (outcome, failure) => {
  const end = endOfTurn(turned(outcome, 'half'), undefined, 'logs')
  expect(end).toMatchObject({ success: false, class: failure, partialOutput: 'half' })
  expect(end).toHaveProperty('error', expect.stringMatching(/./))
})

test('the result is the last text, with its cost', () => {
  const usage = { costUsd: 0.25 }
  expect(
    endOfTurn({ ...turned({ kind: 'exited', code: 0 }, 'all'), usage }, undefined, 'logs'),
  ).toEqual({
    success: true,
    output: 'all',
    cost: 0.25,
  })
})

test('the reason for a stop is used only if the agent did not end by itself', () => {
  const stopped = { class: 'cancelled' as const, error: 'cancelled by main' }
  expect(endOfTurn(turned({ kind: 'interrupted' }), stopped, 'logs')).toEqual({
    success: false,
    ...stopped,
  })
  expect(endOfTurn(turned({ kind: 'exited', code: 0 }), stopped, 'logs').success).toBe(true)
})
