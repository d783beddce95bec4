import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from '../../src/records/events/schema.ts'
import { asked, openNative, untilWaiting, type StageOptions } from '../support/native.ts'
import { journalOf, ofType } from '../support/record.ts'
import type { ScriptSource } from '../../src/fake-model/script-schema.ts'

// What the built-in agent makes of limits: of the provider's, and of its own budgets.

const bash = (command: string) => ({ tool: { name: 'bash', input: { command } } })
const DONE = { text: 'All is done.\n\nORCHESTRA_COMPLETE' }
const failing = (status: number, headers: Record<string, string> = {}, message?: string) => ({
  error: { status, headers, ...(message === undefined ? {} : { message }) },
})
const SOON = { 'retry-after-ms': '1' }

async function outcomesOf(script: ScriptSource, options: StageOptions = {}, ...args: string[]) {
  await using stage = await openNative(script, options)
  const events = await stage.events(...(args.length === 0 ? ['nat', '-p', 'Go'] : args))
  const outcomes: Outcome[] = ofType(events, 'iteration_ended').map(({ outcome }) => outcome)
  return { outcomes, events, requests: asked(stage), cwd: stage.cwd }
}

test.each([
  ['too many requests', failing(429, SOON)],
  ['an overload', failing(529, SOON)],
  ['an error of the server', failing(500, SOON)],
  ['a connection that breaks', { text: 'half of it', drop: true as const }],
])('after %s the request is retried within the iteration', async (_, turn) => {
  const { outcomes, events, requests } = await outcomesOf([turn, turn, { text: 'Fine.' }])
  expect(outcomes).toEqual([{ kind: 'exited', code: 0 }])
  expect(requests).toHaveLength(3)
  expect(ofType(events, 'warning').map(({ text }) => text)).toEqual([
    expect.stringContaining('(1/4)'),
    expect.stringContaining('(2/4)'),
  ])
})

test.each<[string, ReturnType<typeof failing>, number, object]>([
  ['a wrong key', failing(401), 1, { kind: 'auth_failed' }],
  ['an unknown model', failing(404), 1, { kind: 'auth_failed', cause: 'unknown_model' }],
  [
    'an empty account',
    failing(400, {}, 'Your credit balance is too low'),
    1,
    { kind: 'auth_failed' },
  ],
  ['a request that is wrong', failing(400), 1, { kind: 'exited', code: 1 }],
])('%s ends the iteration without a retry', async (_, turn, count, outcome) => {
  const { outcomes, requests } = await outcomesOf([turn])
  expect(outcomes).toMatchObject([outcome])
  expect(requests).toHaveLength(count)
})

test('an authentication failure names model, address and key variable', async () => {
  const { outcomes } = await outcomesOf([failing(401, {}, 'invalid x-api-key')])
  const [refused] = outcomes
  if (refused?.kind !== 'auth_failed') throw new Error(JSON.stringify(refused))
  expect(refused.error).toMatch(
    /^401 invalid x-api-key \(http:\/\/127\.0\.0\.1:\d+\/v1\/messages\); model anthropic\/claude-sonnet-5-5, key from ANTHROPIC_API_KEY$/,
  )
})

test('a failed connection names the address', async () => {
  const agent = { baseUrl: 'http://127.0.0.1:9/v1', timeout: '1s' }
  const { events } = await outcomesOf([{ text: 'never' }], { agent })
  const [first] = ofType(events, 'warning')
  expect(first?.text).toContain('(http://127.0.0.1:9/v1/messages)')
})

test('a lasting overload is passed to the run, which waits', async () => {
  const retry = { attempts: 1, backoff: '1ms' }
  const turns = Array.from({ length: 5 }, () => failing(529, SOON))
  const { outcomes } = await outcomesOf(turns, { agent: { retry } })
  expect(outcomes).toMatchObject([{ kind: 'overloaded' }])
})

test('a long limit is passed to the run with its reset time', async () => {
  const before = Date.now() / 1000
  const { outcomes } = await outcomesOf([failing(429, { 'retry-after': '7200' })], {
    agent: { maxWait: '1h' },
  })
  const [limited] = outcomes
  if (limited?.kind !== 'rate_limited') throw new Error(JSON.stringify(limited))
  expect(limited.resetsAt! - before).toBeGreaterThan(7199)
  expect(limited.resetsAt! - before).toBeLessThan(7300)
})

test('a full context ends the iteration, and the next one starts empty', async () => {
  const full = failing(400, {}, 'prompt is too long: 210000 tokens > 200000 maximum')
  const { outcomes, requests } = await outcomesOf(
    [bash('true'), full, DONE],
    {},
    'nat:2',
    '-p',
    'Go',
  )
  expect(outcomes).toMatchObject([
    { kind: 'exited', code: 1, cause: 'context_full', error: expect.stringContaining('is full') },
    { kind: 'marker' },
  ])
  expect(requests[2]?.messages).toHaveLength(1)
})

const dear = { usage: { input: 100_000, output: 1000 } }

test('a spent budget leaves one last turn without tools for a report', async () => {
  const { outcomes, events, requests, cwd } = await outcomesOf(
    [
      { ...bash('touch one'), ...dear },
      { text: 'One of two is done.', ...bash('touch two'), ...dear },
    ],
    { agent: { maxCostUsd: 0.5 } },
  )
  // A turn costs $0.21: a second one to work and a third to hand back would be more than there is.
  expect(outcomes).toMatchObject([
    {
      kind: 'budget',
      error: 'not enough left for another turn ($0.21 of the $0.25 for this agent is spent)',
    },
  ])
  expect(requests[1]?.tool_choice).toEqual({ type: 'none' })
  expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain('The budget is used up')
  expect(ofType(events, 'message').at(-1)?.text).toBe('One of two is done.')
  expect([existsSync(join(cwd, 'one')), existsSync(join(cwd, 'two'))]).toEqual([true, false])
})

test('an agent that has used up half of the budget continues with the rest', async () => {
  const work = { ...bash('true'), ...dear }
  const report = { text: 'So far.', ...dear }
  const turns = [work, report, work, report]
  const { outcomes, events, requests } = await outcomesOf(turns, { agent: { maxCostUsd: 1 } })
  expect(outcomes).toMatchObject([{ kind: 'budget' }, { kind: 'budget' }])
  expect(JSON.stringify(requests[2]?.messages.at(-1))).toContain('There is budget again')
  expect(ofType(events, 'step_ended')[0]).toMatchObject({ reason: 'budget' })
  expect(ofType(events, 'run_ended')[0]?.spent?.costUsd).toBeCloseTo(0.84)
})

test('the run budget applies in dollars and tokens', async () => {
  const turns = [
    { ...bash('true'), ...dear },
    { text: 'So far.', ...dear },
  ]
  const { events } = await outcomesOf(turns, {}, 'nat:3', '-p', 'Go', '--max-tokens', '150000')
  expect(ofType(events, 'step_ended')[0]).toMatchObject({ reason: 'budget' })
  expect(ofType(events, 'message').at(-1)?.text).toBe('So far.')
})

test('configured prices are used, and a budget without a price is reported', async () => {
  const agent = { model: 'anthropic/claude-house-9' }
  const prices = { 'anthropic/claude-house-9': { input: 1000, output: 1000 } }
  const { events } = await outcomesOf([{ text: 'Hi.' }], { agent, configuration: { prices } })
  expect(ofType(events, 'run_ended')[0]?.spent?.costUsd).toBeCloseTo(0.12)

  const blind = await outcomesOf([{ text: 'Hi.' }], { agent: { ...agent, maxCostUsd: 1 } })
  expect(ofType(blind.events, 'warning')[0]?.text).toContain('its price is unknown')
})

test('time limits end a native agent like any other', async () => {
  const slow = await outcomesOf([{ text: 'never', delayMs: 600_000 }], {
    agent: { timeout: '300ms' },
  })
  expect(slow.outcomes).toMatchObject([{ kind: 'timed_out', ms: 300 }])
  const silent = await outcomesOf([bash('sleep 600')], { agent: { idleTimeout: '300ms' } })
  expect(silent.outcomes).toMatchObject([{ kind: 'idle', ms: 300 }])
  const late = await outcomesOf([bash('sleep 600'), { text: 'I slept.' }], {
    agent: { maxDuration: '300ms' },
  })
  expect(late.outcomes).toMatchObject([{ kind: 'budget' }])
  expect(ofType(late.events, 'message').at(-1)?.text).toBe('I slept.')
})

test('a long answer that keeps streaming does not hit the idle limit', async () => {
  const text = 'word '.repeat(120)
  const { outcomes } = await outcomesOf([{ text, chunkDelayMs: 100 }], {
    agent: { idleTimeout: '1s' },
  })
  expect(outcomes).toEqual([{ kind: 'exited', code: 0 }])
})

test('a long tool call that keeps streaming does not hit the idle limit', async () => {
  const command = `true ${'x'.repeat(600)}`
  const { outcomes } = await outcomesOf(
    [{ ...bash(command), chunkDelayMs: 100 }, { text: 'Done.' }],
    { agent: { idleTimeout: '1s' } },
  )
  expect(outcomes).toEqual([{ kind: 'exited', code: 0 }])
})

test('an answer cut off by the output limit is continued', async () => {
  const cut = { text: 'One, two,', stopReason: 'max_tokens' }
  const { outcomes, requests } = await outcomesOf([cut, { text: 'three.' }], {
    agent: { maxOutputTokens: 5 },
  })
  expect(outcomes).toEqual([{ kind: 'exited', code: 0 }])
  expect(requests).toMatchObject([{ max_tokens: 5 }, { max_tokens: 5 }])
  expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain('Go on where it ended')
})

test('maxTurns counts across resumes, and the message names the setting', async () => {
  const limit = failing(429, { 'retry-after': '61' })
  await using stage = await openNative(
    [bash('echo 1 >>work'), bash('echo 2 >>work'), limit, bash('true'), bash('true'), DONE],
    { agent: { maxTurns: 3 } },
  )
  const running = stage.start('nat', '-p', 'Go')
  const run = await untilWaiting(stage.cwd)
  expect((await stage.run('retry-now', run)).code).toBe(0)
  await running.finished
  const outcomes = ofType(journalOf(stage.cwd, run), 'iteration_ended').map(
    ({ outcome }) => outcome,
  )
  expect(outcomes).toMatchObject([
    { kind: 'rate_limited' },
    { kind: 'max_turns', error: 'not finished after 3 turns; raise "maxTurns" of the agent' },
  ])
})
