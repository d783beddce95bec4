import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { forkhestra, Running, survivors } from '../../support/forkhestra.ts'
import { ask, makeQueueProject, problemsOf, runPrompt, tasksOf } from '../../support/queue.ts'
import { sh } from '../../support/project.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { fileIn, until } from '../../support/until.ts'

/** A project whose `run-queue` was killed while two tasks were running. */
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

test('run-queue after a kill lists what it continues, and its exit code covers it', async () => {
  const cwd = await makeKilledQueue()
  const { code, stdout, stderr } = await forkhestra(['run-queue', '--kill-orphans'], { cwd })
  expect(stdout).toContain('Continuing: again\n')
  expect(stdout).not.toContain('Nothing was started')
  expect(stderr).toContain('Task once: failed (lost: its worker is gone)')
  expect(stderr).toMatch(
    /Lost and not retried: once; to push again: forkhestra push .*name=once retry=1 "PROMPT"\n/,
  )
  expect(code).toBe(1)
  const shown = await forkhestra(['show'], { cwd })
  expect(shown.stdout).toMatch(/^ {2}once +failed \(lost: .* \.\/agent, for main$/m)
  const status = await forkhestra(['status'], { cwd })
  expect(status.stdout).toMatch(/its queue: 1 failed, 1 done; see: forkhestra show \S+\n/)
  expect(await problemsOf(cwd)).toEqual([])
  expect(survivors()).toEqual([])
})

test('resume runs the queue of a run whose steps are complete', async () => {
  const cwd = await makeKilledQueue()
  const run = runsOf(cwd)[0]!
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'dead' }] })
  const refused = await forkhestra(['resume'], { cwd })
  expect(refused.stderr).toContain('Kill them: forkhestra resume')
  expect(refused.code).toBe(1)
  const resumed = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(resumed.stdout).toContain('Continuing: again\n')
  expect(resumed.code).toBe(1)
  expect(await tasksOf(cwd)).toMatchObject([
    { name: 'again', attempt: 2, end: { success: true } },
    { name: 'once', attempt: 1, end: { class: 'lost', error: 'its worker is gone' } },
  ])
  expect(survivors()).toEqual([])
  const nothing = await forkhestra(['resume'], { cwd })
  expect(nothing.stderr).toContain(`Run ${run} is complete`)
  expect(nothing.code).toBe(0)
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'complete' }] })
})

test('queue masks secrets in prompts', async () => {
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

test('forkhestra stop lets the running task finish, and run-queue continues with the rest', async () => {
  const cwd = makeQueueProject('true\n')
  await runPrompt(cwd)
  for (const [index, work] of READY.entries()) {
    await forkhestra(['push', `name=t${index}`, work], { cwd })
  }
  const running = new Running(['run-queue', '--parallel', '1'], { cwd })
  await fileIn(cwd, 'up-first')
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'running' }] })
  const stopped = await forkhestra(['stop'], { cwd })
  expect(stopped.stdout).toContain('will start no more tasks; running tasks will finish')
  writeFileSync(join(cwd, 'go'), '')
  expect((await running.finished).code).toBe(1)
  expect(await tasksOf(cwd)).toMatchObject([{ end: { success: true } }, { state: 'ready' }])
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'complete' }] })
  const again = await forkhestra(['run-queue'], { cwd })
  expect(again.stdout).toContain('Continuing: t1\n')
  expect(again.code).toBe(0)
})

test('forkhestra retry-now ends the wait of a run-queue', async () => {
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

test('retry-now counts even if it comes before the delay of the task is stored', async () => {
  const cwd = makeQueueProject('true\n')
  await runPrompt(cwd)
  const later = Math.floor(Date.now() / 1000) + 3600
  const limit = `echo "Claude AI usage limit reached|${later}"; exit 1`
  const work = `[ -e open ] && exit; touch up; until [ -e go ]; do sleep 0.05; done; ${limit}`
  await forkhestra(['push', 'name=limited', work], { cwd })
  const running = new Running(['run-queue'], { cwd })
  const run = runsOf(cwd)[0]!
  await fileIn(cwd, 'up')
  const store = new DatabaseSync(join(cwd, 'forge/orch/runs', run, 'queue.sqlite'))
  store.exec('begin immediate')
  writeFileSync(join(cwd, 'go'), '')
  await until(() => ofType(journalOf(cwd, run), 'waiting').length > 0)
  writeFileSync(join(cwd, 'open'), '')
  expect((await forkhestra(['retry-now'], { cwd })).code).toBe(0)
  await until(() => ofType(journalOf(cwd, run), 'waited').length > 0)
  store.exec('rollback')
  store.close()
  expect((await running.finished).code).toBe(0)
})

test('the lead in the tutorial reads the results of its tasks after a resume', async () => {
  const guide = readFileSync(join(import.meta.dir, '../../../docs/guide/queues.md'), 'utf8')
  const lead = /```sh lead\n#!\/bin\/sh\n(.*?)```/s.exec(guide)![1]!
  const cwd = makeQueueProject('', {
    lead: sh(lead),
    worker: sh('touch "up-$FORKHESTRA_AGENT_NAME"; [ -e go ] || exec sleep 60; echo "did it"'),
  })
  const killed = new Running(['./lead'], { cwd })
  await fileIn(cwd, 'up-model')
  await fileIn(cwd, 'up-view')
  killed.signal('SIGKILL')
  await killed.finished
  writeFileSync(join(cwd, 'go'), '')
  const { code, stdout } = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('[model: done]\ndid it\n')
  expect(stdout).toContain('[view: done]\ndid it\n')
  expect(stdout).not.toContain('failed (lost')
})
