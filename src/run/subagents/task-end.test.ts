import { expect, test } from 'bun:test'
import type { Outcome } from '../../records/events/schema.ts'
import { QueueError } from '../../queue/refusal.ts'
import { endOfTurn, resultLimit, truncateEnd } from './task-end.ts'

const turned = (outcome: Outcome, said = '') => ({
  outcome,
  unmarked: outcome,
  outputBytes: said.length,
  lastWords: { text: said },
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
test.each([10, 100, 101, 102, 103, 1000])(
  'an end is cut to %d bytes without splitting characters',
  (room) => {
    const text = '語é🦊x'.repeat(200)
    const done = truncateEnd({ success: true, output: text }, room, 'logs')
    const output = done.success ? done.output : ''
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(room)
    expect(output).not.toContain('\uFFFD')
    const failed = truncateEnd(
      { success: false, class: 'fatal', error: text, partialOutput: text },
      room,
      'l',
    )
    const { error, partialOutput = '' } = failed as { error: string; partialOutput?: string }
    expect(Buffer.byteLength(error + partialOutput)).toBeLessThanOrEqual(room)
    expect(error + partialOutput).not.toContain('\uFFFD')
  },
)

test('keeps the beginning and the end of a text and notes the omission', () => {
  const text = `first ${'x'.repeat(1000)} last`
  const { output } = truncateEnd({ success: true, output: text }, 200, 'forkhestra logs r') as {
    output: string
  }
  expect(output).toMatch(/^first x+\n… \(middle omitted; full text: forkhestra logs r\)\nx+ last$/)
})

test('does not change an end that fits', () => {
  const end = { success: false, class: 'lost', error: 'gone', partialOutput: 'half' } as const
  expect(truncateEnd(end, 8, '')).toEqual(end)
})

test('only a refusal for size has a limit', () => {
  const tooBig = new QueueError({ kind: 'too_big', what: 'result', bytes: 9, limit: 8 })
  expect(resultLimit(tooBig)).toBe(8)
  expect(resultLimit(new QueueError({ kind: 'main_stays' }))).toBeUndefined()
  expect(resultLimit(new Error('other'))).toBeUndefined()
})
