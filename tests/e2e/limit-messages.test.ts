import { expect, test } from 'bun:test'
import { sh } from '../support/project.ts'
import { inSeconds, limited, SUBSCRIPTION } from './support/limits.ts'
import { attempts, eventsOf, openStage, outcomes, reasons, parseResult } from './support/stage.ts'
import { DONE } from './support/writer.ts'

// Agents that are scripts around `claude`: what they print is all that is known of them.

const CALL = 'exec claude --print --dangerously-skip-permissions'
const TEXT = { writer: sh(`${CALL} "Write."`) }
const EVENTS = { writer: sh(`${CALL} --output-format stream-json --verbose "Write."`) }

/** The next full hour, or one after it: the message has no seconds. */
function fullHour(hours: number): number {
  return (Math.ceil(Date.now() / 3_600_000) + hours) * 3600
}

test.each([
  ['minutes', () => Math.ceil(inSeconds(3600) / 60) * 60],
  ['a full hour', () => fullHour(1)],
])('a limit message that ends at %s is recognised and waited for', async (_, reset) => {
  const resetsAt = reset()
  const script = [limited(resetsAt), DONE]
  const env = { ...SUBSCRIPTION, TZ: 'Asia/Kathmandu' }
  await using stage = await openStage({ script, env, files: TEXT })
  const running = stage.start(['writer:2', '--json'])
  await running.printed('"type":"waiting"')
  await stage.shell('forkhestra retry-now')
  const result = parseResult(await running.finished)
  const error = expect.stringMatching(/^You've hit your 5-hour limit · resets .*Kathmandu/)
  expect(outcomes(result)).toEqual([{ kind: 'rate_limited', error, resetsAt }, { kind: 'marker' }])
  const until = Date.parse(eventsOf(result, 'waiting')[0]!.until) / 1000
  expect(until).toBeGreaterThanOrEqual(resetsAt)
  expect(until).toBeLessThanOrEqual(resetsAt + 10 * 60)
  expect([result.code, attempts(result)]).toEqual([0, ['1.1 again', '1.2']])
})

test('a weekly limit message names the day', async () => {
  const resetsAt = fullHour(3 * 24)
  const script = [limited(resetsAt, 'seven_day')]
  await using stage = await openStage({ script, env: SUBSCRIPTION, files: TEXT })
  const result = await stage.runJson('writer:2')
  const error = expect.stringMatching(/^You've hit your weekly limit · resets /)
  expect(outcomes(result)).toEqual([{ kind: 'rate_limited', error, resetsAt }])
  expect([result.code, reasons(result)]).toEqual([1, ['quota']])
})

test('events that a wrapper script passes on are recognised', async () => {
  const resetsAt = inSeconds(7 * 3600) + 7
  const script = [limited(resetsAt)]
  await using stage = await openStage({ script, env: SUBSCRIPTION, files: EVENTS })
  const result = await stage.runJson('writer')
  expect(outcomes(result)).toMatchObject([{ kind: 'rate_limited', resetsAt }])
  expect([result.code, reasons(result)]).toEqual([1, ['quota']])
})

test.each([
  [401, 'bad key', 'auth'],
  [403, 'no access', 'auth'],
  [404, 'no such model', 'auth'],
  [529, 'Overloaded', 'agent_failed'],
])('the message of status %d (%s) is recognised: %s', async (status, message, reason) => {
  const script = [{ error: { status, message } }, { error: { status, message } }]
  const step = { agent: 'writer', iterations: 5, retry: { attempts: 1 } }
  await using stage = await openStage({ script, files: TEXT, chains: { w: { steps: [step] } } })
  const result = await stage.runJson('--chain', 'w')
  expect([result.code, reasons(result), outcomes(result).length]).toEqual([1, [reason], 1])
})

test('a limit message is ignored if the agent succeeds', async () => {
  const text = "You've hit your 5-hour limit · resets 5pm (UTC)"
  await using stage = await openStage({ script: [{ text }, DONE], files: TEXT })
  const result = await stage.runJson('writer:2')
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: 0 }, { kind: 'marker' }])
})
