import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { inSeconds, limited, SUBSCRIPTION } from './support/limits.ts'
import { processesOf } from './support/processes.ts'
import { attempts, eventsOf, openStage, reasons, parseResult } from './support/stage.ts'
import { bash, DONE, FOREVER, writes } from './support/writer.ts'

test('after kill -9 the orphaned claude is named and ended, and its iteration is repeated', async () => {
  const hang = bash(`echo "$FORKHESTRA_RUN_ID" >gate; ${FOREVER}`)
  // The orphan may get one more answer, because its command ends a moment before it does.
  const script = [{ text: 'One page.' }, { tool: hang }, DONE, DONE]
  await using stage = await openStage({ script, ...writes() })
  await stage.shell('mkfifo gate')
  const running = stage.start(['--chain', 'w'])
  const run = (await stage.shell('cat gate')).stdout.trim()
  running.signal('SIGKILL')
  await running.finished
  expect(processesOf(run).length).toBeGreaterThanOrEqual(2)

  const refused = await stage.run('resume')
  expect(refused.stderr).toMatch(/Run \S+ left these processes running: .*claude \(pid \d+\)/)
  expect(refused.stderr).toContain('--kill-orphans')
  expect([refused.code === 0, stage.asks.length]).toEqual([false, 2])

  const result = await stage.runJson('resume', '--kill-orphans')
  const [warning] = eventsOf(result, 'warning')
  expect(warning?.text).toMatch(
    /^killed the processes that run \S+ left running: .*claude \(pid \d+\)/,
  )
  expect(eventsOf(result, 'run_resumed')[0]).toMatchObject({ step: 1, iteration: 2 })
  expect(attempts(result)).toEqual(['2.2'])
  expect([result.code, reasons(result), processesOf(run)]).toEqual([0, ['marker'], []])
  expect(readdirSync(join(stage.cwd, 'forge/orch/runs', run, 'steps/1/iterations'))).toContain(
    '2.log',
  )
})

test('after kill -9 during a wait the rest of it is waited for first', async () => {
  const resetsAt = inSeconds(3600)
  const script = [limited(resetsAt), DONE]
  await using stage = await openStage({ script, env: SUBSCRIPTION, ...writes() })
  const killed = stage.start(['--chain', 'w', '--json'])
  await killed.printed('"type":"waiting"')
  killed.signal('SIGKILL')
  await killed.finished
  const running = stage.start(['resume', '--json'])
  await running.printed('"type":"waiting"')
  await stage.shell('forkhestra retry-now')
  const result = parseResult(await running.finished)
  const [waiting] = eventsOf(result, 'waiting')
  expect(waiting).toMatchObject({ why: 'quota', iteration: 1, attempt: 2 })
  expect(Date.parse(waiting!.until) / 1000).toBeGreaterThanOrEqual(resetsAt)
  expect([result.code, attempts(result), reasons(result)]).toEqual([0, ['1.2'], ['marker']])
  expect(stage.asks).toHaveLength(2)
})
