import { expect, test } from 'bun:test'
import { hasOwnSession, RefusalWatch } from './session.ts'
import type { Decoder } from '../engine.ts'

const NOTHING: Decoder = { push: () => [], end: () => [] }

function isRefused(out: string, ...err: string[]): boolean {
  const watch = new RefusalWatch()
  const [first, second] = [watch.wrap('out', NOTHING), watch.wrap('err', NOTHING)]
  if (out !== '') first?.push(Buffer.from(out))
  for (const part of err) second?.push(Buffer.from(part))
  return watch.isRefused
}

const INIT = '{"type":"system","subtype":"init"}\n'

test.each([
  ['No conversation found with session ID: 1-2'],
  ['Error: --resume requires a valid session ID when used with --print'],
  ['(node) a warning\nNo conversation found'],
  ['Error: could not read the session file'],
  ['Failed to resume: unknown format of the transcript'],
])('%j means that the session was refused', (err) => {
  expect(isRefused('', err)).toBe(true)
  expect(isRefused('', err.slice(0, 9), err.slice(9))).toBe(true)
})

test.each([
  ['', ''],
  ['', 'Invalid API key'],
  ['', "error: unknown option '--sessions'"],
  [INIT, 'Error: could not write the session file'],
  [INIT, `${' '.repeat(5000)}\nNo conversation found`],
])('stdout %j and stderr %j are not a refusal', (out, err) => {
  expect(isRefused(out, err)).toBe(false)
})

test.each([
  [['-r'], true],
  [['-c'], true],
  [['--resume', 'x'], true],
  [['--session-id=1'], true],
  [['--continue'], true],
  [['--fork-session'], true],
  [['--resumed'], false],
  [['--model', 'x'], false],
])('%j chooses a session: %p', (args, isOwn) => {
  expect(hasOwnSession(args)).toBe(isOwn)
})
