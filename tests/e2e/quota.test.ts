import { expect, test } from 'bun:test'
import { inSeconds, limited, quotaHeaders, SUBSCRIPTION } from './support/limits.ts'
import {
  attempts,
  eventsOf,
  openStage,
  outcomes,
  reasons,
  parseResult,
  type Stage,
} from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'
import { localTime } from '../../src/base/local-time.ts'

const env = SUBSCRIPTION

/** When the model was asked, in seconds since 1970. */
function askedAt(stage: Stage): number[] {
  return stage.model.requests.flatMap(({ at, turn }) =>
    turn === undefined ? [] : [Date.parse(at) / 1000],
  )
}

test('a limit is waited for until its reset, then the iteration is repeated', async () => {
  const resetsAt = inSeconds(3)
  const script = [limited(resetsAt), DONE]
  await using stage = await openStage({ script, env, ...writes({}, { iterations: 1 }) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([
    { kind: 'rate_limited', error: expect.stringContaining("You've hit your 5-hour"), resetsAt },
    { kind: 'marker' },
  ])
  expect(attempts(result)).toEqual(['1.1 again', '1.2'])
  expect(eventsOf(result, 'limit')[0]).toMatchObject({
    status: 'rejected',
    kind: 'five_hour',
    resetsAt,
  })
  const [waiting] = eventsOf(result, 'waiting')
  expect(waiting).toMatchObject({ why: 'quota', iteration: 1, attempt: 2 })
  expect(Date.parse(waiting!.until) / 1000).toBeGreaterThanOrEqual(resetsAt)
  expect(eventsOf(result, 'waited')).toMatchObject([{ iteration: 1, attempt: 2, cause: 'over' }])
  expect(askedAt(stage)[1]).toBeGreaterThanOrEqual(resetsAt)
  expect(eventsOf(result, 'step_ended')[0]).toMatchObject({ reason: 'marker', iterations: 1 })
  expect([result.code, stage.asks.length]).toEqual([0, 2])
})

test('a log has one line about a wait and how to end it', async () => {
  const script = [limited(inSeconds(3)), DONE]
  await using stage = await openStage({ script, env, ...writes() })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  const lines = stderr.split('\n').filter((line) => line.includes('Waiting for the limit'))
  expect(lines).toEqual([expect.stringContaining("You've hit your 5-hour limit · resets ")])
  expect(stderr).toContain('[forkhestra] To retry now: forkhestra retry-now ')
  expect(stdout).toContain('[forkhestra] The wait is over\n[forkhestra] Iteration 1/3\nAll is')
  for (const control of ['\r', '\u001b']) expect(stdout + stderr).not.toContain(control)
  expect(code).toBe(0)
})

test('retry-now ends a long wait at once', async () => {
  const script = [limited(inSeconds(3600)), DONE]
  await using stage = await openStage({ script, env, ...writes({}, { iterations: 1 }) })
  const running = stage.start(['--chain', 'w', '--json'])
  await running.printed('"type":"waiting"')
  const { code, stdout } = await stage.shell('forkhestra retry-now')
  expect([code, stdout]).toEqual([0, expect.stringContaining('wait cancelled, retrying')])
  const result = parseResult(await running.finished)
  expect(eventsOf(result, 'waited')[0]).toMatchObject({ cause: 'retry_now' })
  expect(eventsOf(result, 'waited')[0]?.ms).toBeLessThan(60_000)
  expect([result.code, attempts(result)]).toEqual([0, ['1.1 again', '1.2']])
})

test('a limit that lasts too long ends the run, and resume repeats the iteration', async () => {
  const resetsAt = inSeconds(3600)
  const script = [{ text: 'One page.' }, limited(resetsAt), DONE]
  await using stage = await openStage({
    script,
    env,
    ...writes({}, { maxWait: '1m', iterations: 2 }),
  })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  const reset = localTime(resetsAt * 1000)
  expect(stdout).toContain(
    `(quota: the limit resets at ${reset}: waiting would exceed the maxWait of 1 min)`,
  )
  const [, run = ''] = /To resume: forkhestra resume (\S+)\n/.exec(stderr) ?? []
  expect(code).toBe(1)
  const result = await stage.runJson('resume', run)
  expect(eventsOf(result, 'run_resumed')[0]).toMatchObject({ step: 1, iteration: 2 })
  expect(eventsOf(result, 'iteration_started')).toMatchObject([{ iteration: 2, attempt: 2 }])
  expect([result.code, reasons(result), stage.asks.length]).toEqual([0, ['marker'], 3])
})

test('a weekly limit ends the run with the reason quota', async () => {
  const script = [limited(inSeconds(3 * 24 * 3600), 'seven_day')]
  await using stage = await openStage({ script, env, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toMatchObject([
    { kind: 'rate_limited', error: expect.stringContaining("You've hit your weekly limit") },
  ])
  expect(eventsOf(result, 'waiting')).toEqual([])
  expect([result.code, reasons(result), stage.asks.length]).toEqual([1, ['quota'], 1])
})

test('an approaching limit is only a warning', async () => {
  const headers = {
    ...quotaHeaders('allowed_warning', inSeconds(3600)),
    'anthropic-ratelimit-unified-5h-utilization': '0.93',
    'anthropic-ratelimit-unified-5h-reset': String(inSeconds(3600)),
    'anthropic-ratelimit-unified-5h-surpassed-threshold': '0.9',
  }
  await using stage = await openStage({ script: [{ ...DONE, headers }], env, ...writes() })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  expect(stderr).toMatch(/^\[forkhestra\] Usage limit \(five_hour\): allowed_warning, .*\n$/)
  expect(stdout).toContain('Complete after 1 iteration')
  expect(code).toBe(0)
})

test('a rejected overage status is not waited for', async () => {
  const headers = {
    ...quotaHeaders('allowed', inSeconds(3600)),
    'anthropic-ratelimit-unified-overage-status': 'rejected',
    'anthropic-ratelimit-unified-overage-disabled-reason': 'org_level_disabled',
  }
  const script = [
    { text: 'A page.', headers },
    { ...DONE, headers },
  ]
  await using stage = await openStage({ script, env, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(eventsOf(result, 'limit').map(({ status }) => status)).toContain('allowed')
  expect(attempts(result)).toEqual(['1.1', '2.1'])
  expect([result.code, result.stderr, eventsOf(result, 'waiting')]).toEqual([0, '', []])
})

test('after a limit the output of a failed check is in the prompt again', async () => {
  const verify = 'test -f page.txt || { echo "the page is missing"; exit 1; }'
  const script = [DONE, { tool: bash('touch page.txt') }, limited(inSeconds(4)), DONE]
  await using stage = await openStage({ script, env, ...writes({}, { iterations: 2, verify }) })
  const result = await stage.runJson('--chain', 'w')
  expect(attempts(result)).toEqual(['1.1', '2.1 again', '2.2'])
  for (const { prompt } of stage.asks.slice(1)) expect(prompt).toContain('the page is missing')
  expect(eventsOf(result, 'run_ended')[0]?.spent).toMatchObject({
    iterations: 2,
    tokens: { input: 300, output: 60 },
  })
  expect([result.code, reasons(result)]).toEqual([0, ['marker']])
})

test('a marker counts although the limit came after it', async () => {
  const script = [{ ...DONE, tool: bash('true') }, limited(inSeconds(3600))]
  await using stage = await openStage({ script, env, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect([result.code, outcomes(result)]).toEqual([0, [{ kind: 'marker' }]])
})

test('an agent that runs once waits as well', async () => {
  const script = [limited(inSeconds(2)), { text: 'A page.' }]
  await using stage = await openStage({ script, env, ...writes({}, {}) })
  const result = await stage.runJson('--chain', 'w')
  expect([result.code, attempts(result), reasons(result)]).toEqual([
    0,
    ['1.1 again', '1.2'],
    ['single_run'],
  ])
})
