import { expect, test } from 'bun:test'
import { inSeconds, limited, SUBSCRIPTION } from './support/limits.ts'
import { processesOf } from './support/processes.ts'
import { budgets, DEAR } from './support/money.ts'
import { attempts, eventsOf, openStage, outcomes, reasons } from './support/stage.ts'
import { bash, DONE, FOREVER, writes } from './support/writer.ts'

test('claude itself ends an iteration that costs too much', async () => {
  const script = [{ tool: bash('true'), usage: DEAR }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const result = await stage.runJson('--chain', 'w', '--max-cost', '0.5')
  expect(budgets(result)).toEqual(['0.50'])
  expect(outcomes(result)).toMatchObject([
    { kind: 'budget', error: expect.stringContaining('0.5') },
  ])
  expect(eventsOf(result, 'run_ended')[0]?.spent?.costUsd).toBeCloseTo(0.6)
  expect([result.code, reasons(result), stage.asks.length]).toEqual([1, ['budget'], 1])
})

test('the remaining budget goes to the next iteration, and none starts without it', async () => {
  const usage = { input: 150_000, output: 0 }
  const script = [{ text: 'A page.', usage }, { text: 'A page.', usage }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const { code, stdout, stderr } = await stage.run('--chain', 'w', '--max-cost', '0.6', '--verbose')
  expect(stdout).toContain('"--max-budget-usd","0.60"')
  expect(stdout).toContain('"--max-budget-usd","0.30"')
  expect(stdout).toMatch(/\[forkhestra\] Spent: .* s, 2 iterations, 300\.0k tokens, \$0\.60\n/)
  expect(stdout).toContain('[forkhestra] Failed at step 1: writer (budget')
  expect(stderr).toContain(' --max-cost …\n')
  expect([code, stage.asks.length]).toEqual([1, 2])
})

test('resume continues with a higher budget', async () => {
  const script = [{ text: 'A page.', usage: DEAR }, DONE]
  await using stage = await openStage({ script, ...writes({}, { maxCostUsd: 5, iterations: 3 }) })
  const first = await stage.runJson('--chain', 'w', '--max-cost', '0.5')
  expect([first.code, reasons(first)]).toEqual([1, ['budget']])
  const result = await stage.runJson('resume', '--max-cost', '2')
  expect(budgets(result)).toEqual(['1.40'])
  expect([result.code, attempts(result), reasons(result)]).toEqual([0, ['2.1'], ['marker']])
})

test('the marker counts even if the budget is exceeded', async () => {
  await using stage = await openStage({ script: [{ ...DONE, usage: DEAR }], ...writes() })
  const result = await stage.runJson('--chain', 'w', '--max-cost', '0.5')
  expect([result.code, reasons(result)]).toEqual([0, ['marker']])
})

test('an agent that exceeds its token budget is stopped', async () => {
  const usage = { input: 1000, output: 200, cacheRead: 1000 }
  const script = [{ tool: bash('true'), usage }, { tool: bash(FOREVER), usage }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const result = await stage.runJson('--chain', 'w', '--max-tokens', '3000')
  expect(outcomes(result)).toMatchObject([{ kind: 'budget' }])
  expect([result.code, reasons(result), stage.asks.length]).toEqual([1, ['budget'], 2])
  expect(processesOf(result.events[0]!.run)).toEqual([])
})

test('no iteration starts without remaining tokens', async () => {
  const script = [{ text: 'A page.' }, { text: 'A page.' }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const result = await stage.runJson('--chain', 'w', '--max-tokens', '240')
  expect(outcomes(result)).toEqual([
    { kind: 'exited', code: 0 },
    { kind: 'exited', code: 0 },
  ])
  expect(eventsOf(result, 'step_ended')[0]).toMatchObject({
    reason: 'budget',
    detail: 'budget of the run spent: 240 of 240 tokens',
  })
  expect([result.code, stage.asks.length]).toEqual([1, 2])
})

test('an agent is stopped when the time of the run is over', async () => {
  const script = [{ text: 'never', delayMs: 3_600_000 }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const result = await stage.runJson('--chain', 'w', '--max-duration', '3s')
  expect(outcomes(result)).toMatchObject([
    { kind: 'budget', error: expect.stringContaining('time') },
  ])
  expect([result.code, reasons(result)]).toEqual([1, ['budget']])
  expect(processesOf(result.events[0]!.run)).toEqual([])
})

test('a wait longer than the remaining time is not started', async () => {
  const script = [limited(inSeconds(3600)), DONE]
  await using stage = await openStage({ script, env: SUBSCRIPTION, ...writes() })
  const result = await stage.runJson('--chain', 'w', '--max-duration', '1m')
  expect(eventsOf(result, 'waiting')).toEqual([])
  expect(eventsOf(result, 'step_ended')[0]).toMatchObject({
    reason: 'budget',
    detail: expect.stringContaining('would exceed the remaining time budget'),
  })
  expect(result.code).toBe(1)
})
