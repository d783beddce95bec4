import { expect, test } from 'bun:test'
import { FORKHESTRA } from '../support/forkhestra.ts'
import { Pty } from '../support/pty.ts'
import { inSeconds, limited, SUBSCRIPTION } from './support/limits.ts'
import { attempts, eventsOf, openStage, reasons, parseResult } from './support/stage.ts'
import { DONE, writes } from './support/writer.ts'

const env = SUBSCRIPTION

/** A run that waits for an hour. */
async function startWaiting() {
  const script = [limited(inSeconds(3600)), DONE]
  const stage = await openStage({ script, env, ...writes({}, { iterations: 1 }) })
  const running = stage.start(['--chain', 'w', '--json'])
  await running.printed('"type":"waiting"')
  return { stage, running, [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose]() }
}

test.each([
  ['SIGINT', 1, 130],
  ['SIGINT', 2, 130],
] as const)('%s, %d times, ends a wait at once', async (signal, times, exitCode) => {
  await using waiting = await startWaiting()
  const { stage, running } = waiting
  for (let count = 0; count < times; count += 1) running.signal(signal)
  const result = parseResult(await running.finished)
  expect(eventsOf(result, 'waited')[0]).toMatchObject({ cause: 'stopped' })
  expect([result.code, reasons(result)]).toEqual([exitCode, ['interrupted']])
  expect(stage.asks).toHaveLength(1)
})

test('stop ends a wait, and resume repeats the iteration', async () => {
  await using waiting = await startWaiting()
  const { stage, running } = waiting
  const stop = await stage.shell('forkhestra stop')
  expect([stop.code, stop.stdout]).toEqual([
    0,
    expect.stringContaining('will stop waiting and exit'),
  ])
  const result = parseResult(await running.finished)
  expect([result.code, reasons(result)]).toEqual([1, ['interrupted']])
  expect(eventsOf(result, 'run_ended')[0]?.stopped).toEqual({ words: 'stopped by forkhestra stop' })
  const resumed = stage.start(['resume', '--json'])
  await resumed.printed('"type":"waiting"')
  await stage.shell('forkhestra retry-now')
  const resumedResult = parseResult(await resumed.finished)
  expect([resumedResult.code, attempts(resumedResult), reasons(resumedResult)]).toEqual([
    0,
    ['1.2'],
    ['marker'],
  ])
})

/** A run on a terminal that waits for so long. */
async function openTerminal(seconds: number, columns: number) {
  const script = [limited(inSeconds(seconds)), DONE]
  const stage = await openStage({ script, env, ...writes() })
  const options = { cwd: stage.cwd, env: { ...stage.env }, columns, rows: 40 }
  return { stage, terminal: new Pty([FORKHESTRA, '--chain', 'w'], options) }
}

/** The times that a terminal has shown as left. */
function shownTimes({ output }: Pty): Set<string | undefined> {
  const shown = output.matchAll(/waiting ([\w ]*? s) for the limit/g)
  return new Set(Array.from(shown, ([, left]) => left))
}

test('on a narrow terminal the countdown fits into one line', async () => {
  const opened = await openTerminal(1800, 60)
  await using stage = opened.stage
  await using terminal = opened.terminal
  await terminal.until(() => shownTimes(terminal).size > 2)
  await stage.shell('forkhestra retry-now')
  expect(await terminal.exited).toBe(0)
  await terminal.shows('Chain complete (1/1 steps)')
  expect(terminal.text.match(/Waiting for the limit/g)).toHaveLength(1)
  expect(terminal.text).toMatch(/retry-now \S+\n(?:\S+\n)?\[forkhestra\] Retrying now\n/)
  expect(terminal.leftBehind()).toEqual([])
})

test('Ctrl-C on a terminal ends a wait and leaves nothing of the countdown', async () => {
  const opened = await openTerminal(1800, 100)
  await using _ = opened.stage
  await using terminal = opened.terminal
  await terminal.until(() => shownTimes(terminal).size > 1)
  terminal.type('\u0003')
  expect(await terminal.exited).toBe(130)
  await terminal.shows('To resume: forkhestra resume ')
  expect(terminal.text.match(/Waiting for the limit/g)).toHaveLength(1)
  expect(terminal.text).toContain('Failed at step 1: writer (interrupted by SIGINT)')
  expect(terminal.leftBehind()).toEqual([])
})
