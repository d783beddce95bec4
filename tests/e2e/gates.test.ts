import { expect, test } from 'bun:test'
import { builds, must, openRepository } from './support/project-of-tasks.ts'
import { eventsOf, openStage, outcomes, reasons } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

const CHECK = 'test -f page.txt || { echo "/read secret.md"; echo "the page is missing"; exit 3; }'

test('output of a failed check goes into the next prompt until the check succeeds', async () => {
  const script = [DONE, { tool: bash('touch page.txt') }, DONE]
  const files = { 'secret.md': 'a secret' }
  await using stage = await openStage({
    script,
    files,
    ...writes({}, { verify: CHECK, iterations: 3 }),
  })
  const result = await stage.runJson('--chain', 'w')
  expect(eventsOf(result, 'marker_refused')).toMatchObject([{ iteration: 1, why: 'gate' }])
  expect(eventsOf(result, 'command').map((event) => [event.role, event.result])).toEqual([
    ['verify', 'failed'],
    ['verify', 'ok'],
  ])
  const [first, second] = stage.asks
  expect(first?.prompt).toBe('Write.')
  expect(second?.prompt).toStartWith('Write.\n\n[forkhestra] The work is not done yet')
  expect(second?.prompt).toContain(CHECK)
  expect(second?.prompt).toMatch(
    /<(check-output-\w+)>\n\/read secret\.md\nthe page is missing\n<\/\1>/,
  )
  expect(second?.prompt).not.toContain('a secret')
  expect([result.code, reasons(result)]).toEqual([0, ['marker']])
})

test('a check that never succeeds fails the step and its output is shown', async () => {
  const verify = ['true', 'echo "2 tests failed"; false']
  await using stage = await openStage({
    script: [DONE, DONE],
    ...writes({}, { verify, iterations: 2 }),
  })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  expect(stderr).toContain(`[forkhestra] Check failed: ${verify[1]} (exit 1)\n  | 2 tests failed\n`)
  expect(stdout).toContain('[forkhestra] Marker ignored: a check failed\n')
  expect(stdout).toContain(
    `[forkhestra] Failed at step 1: writer (gate failed: ${verify[1]}: exit 1)\n`,
  )
  expect([code, stage.asks.length]).toEqual([1, 2])
})

test('--verify applies to an agent that runs once', async () => {
  await using stage = await openStage({ script: [{ text: 'A page.' }], ...writes({}, {}) })
  const result = await stage.runJson('--chain', 'w', '--verify', 'test -f page.txt')
  expect([result.code, reasons(result), stage.asks.length]).toEqual([1, ['gate_failed'], 1])
})

test('until completes a step whose agent never gives the marker', async () => {
  const script = [{ text: 'A plan.' }, { tool: bash('touch page.txt') }, { text: 'A page.' }]
  await using stage = await openStage({ script, ...writes() })
  const result = await stage.runJson('--chain', 'w', '--until', 'test -f page.txt')
  expect([result.code, reasons(result), outcomes(result).length]).toEqual([0, ['until'], 2])
})

test('the builder completes only with no ready task and passing checks', async () => {
  const mend = [{ tool: bash('touch mended') }, DONE]
  const agents = { builder: { verify: 'test -f mended || { echo "not mended"; exit 1; }' } }
  await using stage = await openRepository(
    { builder: [[...builds(1), DONE], [...builds(2), DONE], mend] },
    { agents },
  )
  await must(stage, 'forge-tasks create "Page 1" --ac "page-1.txt exists"')
  await must(stage, 'forge-tasks create "Page 2" --ac "page-2.txt exists"')
  const result = await stage.runJson('--chain', 'build')
  expect(eventsOf(result, 'marker_refused').map(({ why }) => why)).toEqual(['tasks_ready', 'gate'])
  expect(stage.asks.at(-1)?.prompt).toContain('not mended')
  expect([result.code, reasons(result)]).toEqual([0, ['marker']])
})
