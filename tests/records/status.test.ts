import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain } from '../support/chains.ts'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { makeQueueProject } from '../support/queue.ts'
import { runsOf } from '../support/record.ts'
import { RECORDS } from '../support/records.ts'
import { fileIn } from '../support/until.ts'

const project = () =>
  makeProject({
    'forge/.keep': '',
    bad: sh('exit 3'),
    good: sh('exit 0'),
    slow: sh('echo begun', 'exec sleep 60'),
    // Fails once, and waits the next time.
    late: sh('[ -e tried ] && { echo begun; exec sleep 60; }', 'touch tried', 'exit 3'),
  })

async function statusOf(cwd: string): Promise<string> {
  return (await forkhestra(['status'], { cwd })).stdout
}

test('resume of a run whose tasks failed says what to do, and status points to it', async () => {
  const cwd = makeQueueProject('')
  await forkhestra(['push', 'name=broken', 'exit 3'], { cwd })
  await forkhestra(['push', '--agent', './agent', 'name=second', 'exit 4'], { cwd })
  const ran = await forkhestra(['run-queue', '1'], { cwd })
  expect(ran.code).toBe(1)
  const run = runsOf(cwd)[0]!
  const queued = await forkhestra(['resume', run], { cwd })
  expect(queued.code).toBe(1)
  expect(queued.stderr).toContain(`1 queued task; start: forkhestra run-queue --run ${run}\n`)
  expect(await statusOf(cwd)).toContain(`Next: forkhestra run-queue --run ${run}\n`)
  await forkhestra(['run-queue'], { cwd })
  const { code, stderr } = await forkhestra(['resume', run], { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain(`2 failed tasks; see why: forkhestra show ${run}\n`)
  const push = `forkhestra push --run ${run} name`
  expect(stderr).toContain(`does not retry broken; push it again: ${push}=broken "PROMPT"\n`)
  expect(stderr).toContain(`push it again: ${push}=second agent=./agent "PROMPT"\n`)
  expect(stderr).not.toContain('complete')
  const status = await statusOf(cwd)
  expect(status).toContain(
    `Next: forkhestra show ${run}, then push what failed again: ${push}=broken "PROMPT"\nNext: ${push}=second agent=./agent "PROMPT"\n`,
  )
  expect(status).not.toContain('forkhestra resume')
})

test('if the newest record cannot be read, no older run is resumed', async () => {
  const cwd = project()
  await forkhestra(['./bad'], { cwd })
  await forkhestra(['./bad'], { cwd })
  const [older, newest] = runsOf(cwd)
  writeFileSync(join(cwd, RECORDS, newest!, 'events.ndjson'), '')
  const resumed = await forkhestra(['resume'], { cwd })
  expect(resumed).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `[forkhestra] Error: The record of the newest run ${newest} cannot be read.\n` +
      `  To resume the one before it: forkhestra resume ${older}\n`,
  })
  const warning = `the record of the newer run ${newest} cannot be read; using run ${older}`
  for (const command of ['show', 'logs']) {
    const { code, stderr } = await forkhestra([command], { cwd })
    expect(code).toBe(0)
    expect(stderr).toStartWith(`[forkhestra] Warning: ${warning}\n`)
  }
  expect((await forkhestra(['show', older!], { cwd })).stderr).toBe('')
  const status = await forkhestra(['status'], { cwd })
  expect(status.code).toBe(1)
  expect(status.stdout).toContain(`The record of the newer run ${newest} cannot be read\n`)
  const json = JSON.parse((await forkhestra(['status', '--json'], { cwd })).stdout)
  expect(json.broken).toEqual([newest])
  const { stdout } = await forkhestra(['doctor'], { cwd })
  expect(stdout).toContain(`the record of the last run ${newest} cannot be read`)
  writeFileSync(join(cwd, RECORDS, older!, 'events.ndjson'), '')
  const none = await forkhestra(['show'], { cwd })
  expect(none.code).toBe(2)
  expect(none.stderr).toContain(`The record of run ${newest} cannot be read.`)
})

test('resume says that it skips a newer run', async () => {
  const cwd = project()
  await forkhestra(['./bad'], { cwd })
  await forkhestra(['./good'], { cwd })
  const [failed, complete] = runsOf(cwd)
  const { stderr } = await forkhestra(['resume'], { cwd })
  expect(stderr).toStartWith(
    `[forkhestra] The newest run ${complete} is complete; resuming ${failed}, which failed on 20`,
  )
  expect((await forkhestra(['resume', failed!], { cwd })).stderr).not.toContain('newest')
})

test('status says that a run needs a larger budget to be resumed', async () => {
  const cwd = makeChain([{ agent: 'slow', maxDuration: '1s' }], { slow: sh('exec sleep 60') })
  await forkhestra(['--chain', 'c'], { cwd })
  const run = runsOf(cwd)[0]!
  expect(await statusOf(cwd)).toContain(
    `Next: forkhestra show ${run}, then forkhestra resume ${run} --max-duration …\n`,
  )
})

test('status points to the output of a live run, and a resumed one has no old detail', async () => {
  const cwd = project()
  await forkhestra(['tasks', 'create', 'One'], { cwd })
  await forkhestra(['./late'], { cwd })
  const resumed = new Running(['resume'], { cwd })
  await resumed.printed('begun')
  const run = runsOf(cwd)[0]!
  const status = await statusOf(cwd)
  expect(status).toEndWith(`Next: forkhestra logs ${run} --follow\n`)
  const json = JSON.parse((await forkhestra(['status', '--json'], { cwd })).stdout)
  expect(json.live[0].steps[0]).toMatchObject({ step: 1 })
  expect(json.live[0].steps[0]).not.toHaveProperty('detail')
  resumed.signal('SIGTERM')
  await resumed.finished
})

test('after a stop of run-queue, status says how to continue; a cancelled task is not pushed again', async () => {
  const cwd = makeQueueProject('')
  const push = (...words: string[]) => forkhestra(['push', '--agent', './agent', ...words], { cwd })
  await push('name=a', 'touch up; until [ -e go ]; do sleep 0.05; done')
  await push('name=b', 'true')
  const running = new Running(['run-queue', '--parallel', '1'], { cwd })
  await fileIn(cwd, 'up')
  await forkhestra(['stop'], { cwd })
  const run = runsOf(cwd)[0]!
  expect(await statusOf(cwd)).toMatch(new RegExp(`${run} +running \\(stopping\\)`))
  writeFileSync(join(cwd, 'go'), '')
  await running.finished
  expect(await statusOf(cwd)).toContain(`Next: forkhestra run-queue --run ${run}\n`)
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toMatch(/run-queue --run \S+ +continue with the remaining tasks$/m)
  await forkhestra(['cancel', 'b'], { cwd })
  expect(await statusOf(cwd)).not.toContain('forkhestra push')
})

test('show says that a run was asked to stop, and offers to stop it at once', async () => {
  const cwd = makeProject({
    'forge/.keep': '',
    agent: sh('touch up', 'until [ -e go ]; do sleep 0.05; done'),
  })
  const running = new Running(['agent:2'], { cwd })
  await fileIn(cwd, 'up')
  await forkhestra(['stop'], { cwd })
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toContain(': running (stopping)\n')
  expect(stdout).toMatch(/forkhestra stop \S+ --now +stop at once$/m)
  writeFileSync(join(cwd, 'go'), '')
  await running.finished
  expect((await forkhestra(['show'], { cwd })).stdout).not.toContain('stopping')
})
