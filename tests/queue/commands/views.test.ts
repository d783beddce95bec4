import { expect, test } from 'bun:test'
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Origins } from '../../../src/records/journal/origins.ts'
import { readPlan } from '../../../src/records/journal/read-run.ts'
import { environment, FORKHESTRA, forkhestra, Running } from '../../support/forkhestra.ts'
import { ask, makeQueueProject, runPrompt } from '../../support/queue.ts'
import { storeOf } from '../../support/queue-records.ts'
import { runsOf } from '../../support/record.ts'
import { fileIn } from '../../support/until.ts'

const push = (cwd: string, name: string, script: string, ...more: string[]) =>
  forkhestra(['push', '--agent', './agent', '--name', name, ...more, script], { cwd })

async function said(cwd: string, ...words: string[]): Promise<string> {
  const { stdout, stderr } = await forkhestra(words, { cwd })
  return stdout + stderr
}

test('a run that push opened shows its queue, and is complete once that is empty', async () => {
  const cwd = makeQueueProject('')
  await push(cwd, 'good', 'true')
  await push(cwd, 'bad', 'exit 3')
  await push(cwd, 'later', 'true')
  const [run] = runsOf(cwd)
  expect(await said(cwd, 'runs')).toMatch(/ open +queue: 3 queued /)
  const open = await said(cwd, 'show')
  expect(open).toStartWith(`Run ${run}: open\n  queue: 3 queued\n`)
  expect(open).toContain(`forkhestra run-queue --run ${run}`)
  expect(await said(cwd, 'logs')).not.toContain('0/0')
  await forkhestra(['run-queue', '2'], { cwd })
  expect(await said(cwd, 'runs')).toMatch(/ open +queue: 1 queued, 1 failed, 1 done /)
  expect(await ask<object>(cwd, 'show')).toMatchObject({
    status: 'open',
    counts: { queued: 1, ready: 0, running: 0, failed: 1, done: 1, unread: 2 },
  })
  const logs = await said(cwd, 'logs')
  expect(logs).toStartWith('[forkhestra] Task ')
  expect(logs).toContain(
    `[forkhestra] Queue: 1 queued, 1 failed, 1 done; to start: forkhestra run-queue --run ${run}\n`,
  )
  await forkhestra(['run-queue'], { cwd })
  const failed = await said(cwd, 'show')
  expect(failed).toStartWith(`Run ${run}: failed\n  queue: 1 failed, 2 done\n`)
  expect(failed).toContain(`forkhestra logs ${run} --task bad`)
  expect(failed).not.toContain('resume')
  expect(await said(cwd, 'doctor')).not.toContain(': complete')
})

test('a run whose run-queue was killed is dead, and shows how to resume', async () => {
  const cwd = makeQueueProject('')
  await push(cwd, 'one', 'touch up; exec sleep 60')
  const killed = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up')
  killed.signal('SIGKILL')
  await killed.finished
  const [run] = runsOf(cwd)
  const shown = await said(cwd, 'show')
  expect(shown).toStartWith(`Run ${run}: dead\n  queue: 1 running\n`)
  expect(shown).toContain(`forkhestra run-queue --run ${run}`)
  await said(cwd, 'run-queue', '--kill-orphans')
  expect(await said(cwd, 'show')).toStartWith(`Run ${run}: failed\n  queue: 1 failed\n`)
})

test('tasks that are queued in an older run are mentioned', async () => {
  const cwd = makeQueueProject('true\n')
  await push(cwd, 'keep', 'true')
  const [old] = runsOf(cwd)
  const hint = `1 task is queued in run ${old}: forkhestra queue --run ${old}\n`
  const { stdout } = await runPrompt(cwd)
  expect(stdout).toEndWith(`[forkhestra] ${hint}`)
  expect(await said(cwd, 'queue')).toBe(`The queue is empty.\n${hint}`)
  const toStart = hint.replace('forkhestra queue', 'forkhestra run-queue')
  expect(await said(cwd, 'run-queue')).toBe(`The queue is empty.\n${toStart}`)
  await push(cwd, 'new', 'true')
  expect(await said(cwd, 'queue')).toEndWith(hint)
  await said(cwd, 'run-queue')
  expect(await said(cwd, 'run-queue')).toBe(`Nothing was started.\n${toStart}`)
  await said(cwd, 'cancel', 'keep', '--run', old!)
  expect(await said(cwd, 'queue')).not.toContain(old!)
})

test('records with open tasks, unread results or worktrees are not removed automatically', async () => {
  const cwd = makeQueueProject('true\n')
  await push(cwd, 'keep', 'true')
  const [old] = runsOf(cwd)
  await runPrompt(cwd)
  const [, model] = runsOf(cwd)
  const root = join(cwd, 'forge/orch/runs')
  for (let index = 0; index < 60; index += 1) {
    const copy = join(root, model!.replace(/...$/, `z${index + 10}`))
    cpSync(join(root, model!), copy, { recursive: true })
    new Origins(environment({ cwd })).sign(copy, readPlan(copy)?.plan)
  }
  await runPrompt(cwd)
  const left = runsOf(cwd)
  expect(left).toHaveLength(51)
  expect(left[0]).toBe(old)
  const kept = `kept: ${old}: 1 task is queued in it\n`
  expect(await said(cwd, 'clean', '--keep', '1', '--dry-run')).toContain(kept)
  expect(await said(cwd, 'clean', '--keep', '1')).toContain(kept)
  expect(runsOf(cwd)).toHaveLength(2)
  expect(await ask<object>(cwd, 'clean', '--keep', '1')).toMatchObject({
    removed: [],
    kept: [{ id: old, why: '1 task is queued in it' }],
  })
  await said(cwd, 'run-queue', '--run', old!)
  expect(await said(cwd, 'clean', '--keep', '1')).toContain(`kept: ${old}: 1 result is unread`)
  expect(await said(cwd, 'clean', '--keep', '1', '--with-queues')).toContain(`removed: ${old}`)
  expect(runsOf(cwd)).toHaveLength(1)
  rmSync(root, { recursive: true })
})

test.each<[string[]]>([[[]], [['--task', 'one']]])(
  'logs --follow %j stays with a run-queue to its end',
  async (part) => {
    const cwd = makeQueueProject('')
    await push(
      cwd,
      'one',
      'echo began; touch up; until [ -e go ]; do sleep 0.05; done; echo the end',
    )
    const queue = new Running(['run-queue'], { cwd })
    await fileIn(cwd, 'up')
    const logs = new Running(['logs', '-v', '--follow', ...part], { cwd })
    await logs.printed('one | began')
    writeFileSync(join(cwd, 'go'), '')
    const { code, stdout } = await logs.finished
    await queue.finished
    expect(stdout).toContain('one | the end\n[forkhestra] Task one: done')
    expect(code).toBe(0)
  },
)

test('logs --follow reports that run-queue was killed', async () => {
  const cwd = makeQueueProject('')
  await push(cwd, 'one', 'touch up; exec sleep 60')
  const queue = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up')
  const logs = new Running(['logs', '--follow'], { cwd })
  await logs.printed('Task one: started')
  queue.signal('SIGKILL')
  const { code, stderr } = await logs.finished
  expect(stderr).toContain('is dead')
  expect(code).toBe(1)
  await said(cwd, 'run-queue', '--kill-orphans')
})

test('a part that a run does not have is refused with a list of existing ones', async () => {
  const cwd = makeQueueProject(`/push name=a 'echo a'\n/run\ntrue\n`)
  await runPrompt(cwd)
  const [run] = runsOf(cwd)
  const none = await forkhestra(['logs', '--task', 'a', '--attempt', '7'], { cwd })
  expect([none.code, none.stdout]).toEqual([2, ''])
  expect(none.stderr).toContain(`Task a of run ${run} has no attempt 7: it was started once.`)
  const late = await forkhestra(['logs', '--iteration', '9'], { cwd })
  expect([late.code, late.stdout]).toEqual([2, ''])
  expect(late.stderr).toContain(`Run ${run} has no iteration 9: the last is iteration 1.`)
  for (const part of [
    ['--task', 'a', '--attempt', '1'],
    ['--iteration', '1'],
    ['--step', '1'],
  ]) {
    expect((await forkhestra(['logs', ...part], { cwd })).code).toBe(0)
  }
})

test('the cost of a task is null if it is unknown', async () => {
  const cwd = makeQueueProject(`/push name=a 'sleep 0.3'\n/run\ntrue\n`)
  await runPrompt(cwd)
  expect(await ask<object>(cwd, 'show')).toMatchObject({ tasks: [{ name: 'a', costUsd: null }] })
  const { rows } = await ask<{ rows: { ms: number }[] }>(cwd, 'cost')
  expect(rows).toMatchObject([{ iterations: 1, tasks: 1 }])
  expect(rows[0]?.ms).toBeGreaterThanOrEqual(300)
})

test.each([
  [
    'is random bytes',
    (path: string) => writeFileSync(path, 'x'.repeat(9000)),
    'is not a forkhestra queue store',
  ],
  ['is gone', (path: string) => rmSync(path), 'queue.sqlite is missing, with everything'],
])('a run whose store %s is not shown as complete', async (_, spoil, why) => {
  const cwd = makeQueueProject('')
  await push(cwd, 'first', 'true')
  await forkhestra(['run-queue'], { cwd })
  await push(cwd, 'later', 'true')
  const [run] = runsOf(cwd)
  spoil(storeOf(cwd))
  const runs = await said(cwd, 'runs')
  expect(runs).toMatch(/ unknown +queue: cannot be read /)
  expect(runs).toContain(why)
  const show = await said(cwd, 'show')
  expect(show).toStartWith(`Run ${run}: unknown\n`)
  expect(show).toContain(why)
  const { runs: described } = await ask<{ runs: unknown[] }>(cwd, 'runs')
  expect(described).toMatchObject([{ status: 'unknown', unreadable: expect.stringContaining(why) }])
})

test('a run on a read-only disk is not shown as complete', async () => {
  const cwd = makeQueueProject('')
  const env = environment({ cwd })
  const script = [
    'mount -t tmpfs none forge && forkhestra push name=a x && mount -o remount,ro forge || exit 99',
    'forkhestra runs; forkhestra show',
  ]
  const child = Bun.spawn(['unshare', '-rm', 'sh', '-c', script.join('\n')], {
    cwd,
    env: { ...env, PATH: `${dirname(FORKHESTRA)}:${env['PATH']}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stdout = await new Response(child.stdout).text()
  expect(stdout).toMatch(/ (?:unknown +queue: cannot be read|open +queue: 1 queued) /)
  expect(stdout).toMatch(/^Run \S+: (?:unknown|open)$/m)
})
