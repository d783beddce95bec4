import { expect, test } from 'bun:test'
import { budgets, DEAR } from './support/money.ts'
import { attempts, eventsOf, openStage, outcomes } from './support/stage.ts'
import { bash, DONE, FOREVER, writes } from './support/writer.ts'

/** Two commands that never end, one of them in a session of its own. */
const HANGING = bash(`setsid ${FOREVER} & ${FOREVER}`)

test('an unresponsive model ends the iteration as idle, and the next one starts', async () => {
  const script = [{ text: 'never', delayMs: 3_600_000 }, DONE]
  await using stage = await openStage({
    script,
    ...writes({}, { iterations: 2, idleTimeout: '6s' }),
  })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'idle', ms: 6000 }, { kind: 'marker' }])
  expect([result.code, attempts(result)]).toEqual([0, ['1.1', '2.1']])
  expect(eventsOf(result, 'run_ended')[0]?.leftovers).toEqual([])
})

test('an iteration that times out ends with its processes, and its cost counts', async () => {
  const script = [{ tool: bash('true'), usage: DEAR }, { tool: HANGING, usage: DEAR }, DONE]
  await using stage = await openStage({ script, ...writes({}, { iterations: 2 }) })
  const result = await stage.runJson('--chain', 'w', '--timeout', '6s', '--max-cost', '1.3')
  expect(outcomes(result)).toEqual([{ kind: 'timed_out', ms: 6000 }, { kind: 'marker' }])
  expect(budgets(result)).toEqual(['1.30', '0.10'])
  const [{ usage } = {}] = eventsOf(result, 'iteration_ended')
  expect(usage?.tokens).toMatchObject({ input: 400_000, output: 40_000 })
  expect([result.code, eventsOf(result, 'run_ended')[0]?.leftovers]).toEqual([0, []])
})

test('an agent that runs once and times out fails with the reason timeout', async () => {
  const script = [{ text: 'never', delayMs: 3_600_000 }]
  await using stage = await openStage({ script, ...writes({}, { timeout: '2s' }) })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  expect(stdout).toContain('[forkhestra] Failed at step 1: writer (timeout: timed out after 2 s)\n')
  expect(stderr).toContain('[forkhestra] To allow more time: --timeout or --idle-timeout\n')
  expect(code).toBe(1)
})
