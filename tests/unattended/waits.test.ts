import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  makeChain,
  reasonsIn,
  runChain,
  startChain,
  withRecord,
  turnsIn,
} from '../support/chains.ts'
import { forkhestra, type Running } from '../support/forkhestra.ts'
import { sh } from '../support/project.ts'
import { ofType } from '../support/record.ts'
import { fileIn, until } from '../support/until.ts'

/** The last output of an agent whose limit is reset after this time. */
const limit = (seconds: number) =>
  `echo "Claude AI usage limit reached|$(($(date +%s) + ${seconds}))"; exit 1`
/** Counts its attempts in `tries`; `nth` is the number of this one. */
const COUNT = 'echo x >>tries; nth=$(wc -l <tries | tr -d " ")'
const OVERLOADED = "echo 'API Error: 529 Overloaded'; exit 1"

async function waitingTimes(running: Running, count: number): Promise<void> {
  await until(() => running.stderr.split('Waiting for the limit').length > count)
}

test('a retry-now that fails again only starts another wait', async () => {
  const agent = sh(COUNT, '[ $nth = 4 ] && { echo ORCHESTRA_COMPLETE; exit 0; }', limit(14_000))
  const cwd = makeChain([{ agent: 'agent', iterations: 3 }], { agent })
  const running = startChain(cwd)
  for (const count of [1, 2, 3]) {
    await waitingTimes(running, count)
    expect((await forkhestra(['retry-now'], { cwd })).code).toBe(0)
  }
  const { code, events } = withRecord(await running.finished, cwd)
  expect([code, reasonsIn(events)]).toEqual([0, ['marker']])
  expect(ofType(events, 'waited').map(({ cause }) => cause)).toEqual(Array(3).fill('retry_now'))
})

test.each([
  ['has worked', 'sleep 6', OVERLOADED],
  ['has waited for a limit', limit(6), OVERLOADED],
])('the retry time is not used up because an agent %s in between', async (_, second, third) => {
  const agent = sh(
    COUNT,
    'case $nth in',
    `1) ${OVERLOADED} ;;`,
    `2) ${second} ;;`,
    '4) echo ORCHESTRA_COMPLETE; exit 0 ;;',
    'esac',
    third,
  )
  // Three pauses of at most 0.35 s in total, and work that is longer than the retry time.
  const retry = { for: '5s', backoff: '50ms' }
  const cwd = makeChain([{ agent: 'agent', iterations: 3 }], { agent }, { retry })
  const { code, events } = await runChain(cwd)
  expect([code, reasonsIn(events)]).toEqual([0, ['marker']])
  expect(turnsIn(events).at(-1)).toBe('1.1 marker')
})

test('a hanging hook does not delay the end of a wait', async () => {
  const agent = sh(COUNT, '[ $nth = 2 ] && { echo ORCHESTRA_COMPLETE; exit 0; }', limit(3600))
  const hooks = { onWait: 'touch hooked; sleep 600' }
  const cwd = makeChain([{ agent: 'agent', iterations: 2, hooks }], { agent })
  const running = startChain(cwd)
  await fileIn(cwd, 'hooked')
  await forkhestra(['retry-now'], { cwd })
  expect((await running.finished).code).toBe(0)
  expect(readFileSync(join(cwd, 'tries'), 'utf8')).toBe('x\nx\n')
})
