import { expect, test } from 'bun:test'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { openNative } from '../support/native.ts'
import { makeProject, sh } from '../support/project.ts'
import { ofType } from '../support/record.ts'

/** Nine hours before UTC, all year. */
const env = { TZ: 'Asia/Tokyo' }

/** The time there, to the minute. */
const inTokyo = (time: number | string) =>
  new Date(new Date(time).getTime() + 9 * 3_600_000).toISOString().slice(0, 16).replace('T', ' ')

test('a limit beyond maxWait is named with its local time and with maxWait', async () => {
  const refusal = { status: 429, headers: { 'retry-after': '86400' } }
  await using stage = await openNative([{ error: refusal }], { env })
  const events = await stage.events('nat:2', '-p', 'Go.')
  const [ended] = ofType(events, 'step_ended')
  const outcome = ofType(events, 'iteration_ended')[0]?.outcome
  if (outcome?.kind !== 'rate_limited') throw new Error('no limit was met')
  const reset = inTokyo(outcome.resetsAt! * 1000)
  expect(ended).toMatchObject({
    reason: 'quota',
    detail: `the limit resets at ${reset}: waiting would exceed the maxWait of 6 h`,
  })
  const { stdout } = await forkhestra(['logs'], { cwd: stage.cwd, env })
  expect(stdout).toContain(`resets at ${reset}: waiting would exceed`)
})

test('claims and live runs say since when in local time', async () => {
  const cwd = makeProject({ 'forge/.keep': '', slow: sh('echo begun', 'exec sleep 60') })
  await forkhestra(['tasks', 'create', 'One'], { cwd, env })
  const { stdout } = await forkhestra(['tasks', 'claim', '1', '--as', 'ann', '--json'], {
    cwd,
    env,
  })
  const { claim } = JSON.parse(stdout) as { claim: { at: string; until: string } }
  const { stderr } = await forkhestra(['tasks', 'claim', '1', '--as', 'ben'], { cwd, env })
  expect(stderr).toBe(
    `forge-tasks: TASK-001 is claimed by ann since ${inTokyo(claim.at)}, until ${inTokyo(claim.until)}.\n`,
  )
  const live = new Running(['slow'], { cwd, env })
  await live.printed('begun')
  const [run] = JSON.parse((await forkhestra(['runs', '--json'], { cwd })).stdout).runs
  const refused = await forkhestra(['resume', run.id], { cwd, env })
  expect(refused.stderr).toMatch(/process \d+, since \d{4}-\d\d-\d\d \d\d:\d\d\)\.\n/)
  live.signal('SIGTERM')
  await live.finished
})
