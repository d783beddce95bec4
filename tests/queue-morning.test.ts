import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running, survivors } from './support/forkhestra.ts'
import { ask, makeQueueProject, problemsOf, runPrompt, tasksOf } from './support/queue.ts'
import { journalOf, ofType, runsOf } from './support/record.ts'
import { fileIn, until } from './support/until.ts'

/** A project in which a person's `run-queue` was killed while two tasks were at work. */
async function makeKilledQueue(): Promise<string> {
  const cwd = makeQueueProject('true\n')
  await runPrompt(cwd)
  const work = (name: string) => `touch up-${name}; [ -e go ] || sleep 60; echo ${name}`
  await forkhestra(['push', 'name=again', 'retry=1', work('again')], { cwd })
  await forkhestra(['push', 'name=once', work('once')], { cwd })
  const killed = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up-again')
  await fileIn(cwd, 'up-once')
  killed.signal('SIGKILL')
  await killed.finished
  writeFileSync(join(cwd, 'go'), '')
  return cwd
}

test('run-queue after a kill says with what it goes on, and its exit code counts it', async () => {
  const cwd = await makeKilledQueue()
  const { code, stdout, stderr } = await forkhestra(['run-queue', '--kill-orphans'], { cwd })
  expect(stdout).toContain('Going on with: again, once\n')
  expect(stdout).not.toContain('Nothing was started')
  expect(stderr).toContain('Task once: failed (lost: its worker is gone)')
  expect(code).toBe(1)
  expect(await problemsOf(cwd)).toEqual([])
  expect(survivors()).toEqual([])
})

test('resume works off the queue of a run whose steps are complete', async () => {
  const cwd = await makeKilledQueue()
  const run = runsOf(cwd)[0]!
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'dead' }] })
  const refused = await forkhestra(['resume'], { cwd })
  expect(refused.stderr).toContain('End it: --kill-orphans')
  expect(refused.code).toBe(1)
  const resumed = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(resumed.stdout).toContain('Going on with: again, once\n')
  expect(resumed.code).toBe(1)
  expect(await tasksOf(cwd)).toMatchObject([
    { name: 'again', attempt: 2, end: { success: true } },
    { name: 'once', attempt: 1, end: { class: 'lost', error: 'its worker is gone' } },
  ])
  expect(survivors()).toEqual([])
  const nothing = await forkhestra(['resume'], { cwd })
  expect(nothing.stderr).toContain(`The run ${run} is complete`)
  expect(nothing.code).toBe(0)
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'complete' }] })
})

test('a secret in the prompt of a task is not shown by queue', async () => {
  const cwd = makeQueueProject('true\n')
  await runPrompt(cwd)
  const env = { SHOP_API_KEY: 'kQ7-pVx2-9fLm-33Zt' }
  await forkhestra(['push', 'name=one', `echo ${env.SHOP_API_KEY}`], { cwd, env })
  for (const words of [['queue'], ['queue', '--json']]) {
    const { stdout } = await forkhestra(words, { cwd, env })
    expect(stdout).toContain('echo [masked SHOP_API_KEY]')
    expect(stdout).not.toContain(env.SHOP_API_KEY)
  }
})

const READY = ['first', 'second'].map(
  (name) => `touch up-${name}; until [ -e go ]; do sleep 0.05; done; echo ${name}`,
)

test('forkhestra stop lets the task at work of a queue finish, and the rest goes on later', async () => {
  const cwd = makeQueueProject('true\n')
  await runPrompt(cwd)
  for (const [index, work] of READY.entries()) {
    await forkhestra(['push', `name=t${index}`, work], { cwd })
  }
  const running = new Running(['run-queue', '--parallel', '1'], { cwd })
  await fileIn(cwd, 'up-first')
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'running' }] })
  const stopped = await forkhestra(['stop'], { cwd })
  expect(stopped.stdout).toContain('begins no more tasks; those at work finish')
  writeFileSync(join(cwd, 'go'), '')
  expect((await running.finished).code).toBe(1)
  expect(await tasksOf(cwd)).toMatchObject([{ end: { success: true } }, { state: 'ready' }])
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'complete' }] })
  const again = await forkhestra(['run-queue'], { cwd })
  expect(again.stdout).toContain('Going on with: t1\n')
  expect(again.code).toBe(0)
})

test('forkhestra retry-now ends the wait of a queue that is worked off after its run', async () => {
  const cwd = makeQueueProject('true\n')
  await runPrompt(cwd)
  const later = Math.floor(Date.now() / 1000) + 3600
  const work = `[ -e open ] && exit; echo "Claude AI usage limit reached|${later}"; exit 1`
  await forkhestra(['push', 'name=limited', work], { cwd })
  const running = new Running(['run-queue'], { cwd })
  const run = runsOf(cwd)[0]!
  await until(() => ofType(journalOf(cwd, run), 'waiting').length > 0)
  writeFileSync(join(cwd, 'open'), '')
  expect((await forkhestra(['retry-now'], { cwd })).code).toBe(0)
  expect((await running.finished).code).toBe(0)
})
