import { expect, test } from 'bun:test'
import { stopReason, stopReasonOf, type StopReason } from './ports.ts'

const TERM: StopReason = { signal: 'SIGTERM', words: 'interrupted by SIGTERM' }

test.each<[unknown, StopReason]>([
  [stopReason('SIGINT'), { signal: 'SIGINT', words: 'interrupted by SIGINT' }],
  [stopReason('SIGTERM', 'left alone'), { signal: 'SIGTERM', words: 'left alone' }],
  ['SIGHUP', { signal: 'SIGHUP', words: 'interrupted by SIGHUP' }],
  ['SIGKILL', TERM],
  ['time is up', TERM],
  [undefined, TERM],
  [null, TERM],
  [new Error('enough'), TERM],
])('a run that is stopped with %j was stopped by %j', (reason, expected) => {
  expect(stopReasonOf(AbortSignal.abort(reason))).toEqual(expected)
})
