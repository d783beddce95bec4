import { expect, test } from 'bun:test'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running, survivors } from '../../support/forkhestra.ts'
import { makeQueueProject, problemsOf, startPrompt, tasksOf } from '../../support/queue.ts'
import { wrongEnds } from '../../support/queue-records.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { fileIn, until } from '../../support/until.ts'

const TEN = Array.from({ length: 10 }, (_, index) => `t${index}`)

function linesOf(cwd: string, file: string): string[] {
  const path = join(cwd, file)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
}

test('a killed run resumes: running tasks are lost and retried, and nothing happens twice', async () => {
  const cwd = makeQueueProject(
    [
      ...TEN.map(
        (name) =>
          `/push name=${name} retry=1 "echo ${name} >> begun; [ -e go ] || sleep 60; echo ok"`,
      ),
      '/run',
      `[ -e go ] || sleep 60; forkhestra receive --json --from ${TEN.join(',')} > got.json`,
      '/push name=after "echo after"',
    ].join('\n'),
  )
  const running = startPrompt(cwd)
  await until(() => linesOf(cwd, 'begun').length === 10)
  running.signal('SIGKILL')
  await running.finished
  writeFileSync(join(cwd, 'go'), '')
  const refused = await forkhestra(['resume'], { cwd })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('--kill-orphans')

  const { code } = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(code).toBe(0)
  expect(survivors()).toEqual([])
  const tasks = await tasksOf(cwd)
  expect(tasks.map(({ name, attempt, state }) => [name, attempt, state])).toEqual([
    ...TEN.map((name) => [name, 2, 'ended']),
    ['after', 0, 'queued'],
  ])
  expect(linesOf(cwd, 'begun').toSorted()).toEqual([...TEN, ...TEN].toSorted())
  const got = JSON.parse(readFileSync(join(cwd, 'got.json'), 'utf8')) as { messages: unknown[] }
  expect(got.messages).toHaveLength(10)
  expect(await problemsOf(cwd)).toEqual([])
  const [run] = runsOf(cwd)
  const ended = ofType(journalOf(cwd, run!), 'task_ended')
  const attempts = ended.map(({ task, attempt }) => `${task} ${attempt}`)
  expect(new Set(attempts).size).toBe(attempts.length)
  expect(attempts.toSorted()).toEqual(TEN.flatMap((name) => [`${name} 1`, `${name} 2`]).toSorted())
}, 120_000)

test('a run that is killed while its prompt queues tasks queues the rest on resume, none twice', async () => {
  const names = Array.from({ length: 150 }, (_, index) => `t${index}`)
  const cwd = makeQueueProject(
    [
      ...names.flatMap((name) => [
        `/push name=${name} retry=9 "echo ${name} >> ran"`,
        '/run parallel=4',
      ]),
      'echo main >> ran',
      '/push name=after "true"',
    ].join('\n'),
  )
  let kills = 0
  for (const bytes of [100_000, 400_000, 900_000]) {
    const running =
      kills === 0 ? startPrompt(cwd) : new Running(['resume', '--kill-orphans'], { cwd })
    const isThere = until(() => logSize(cwd) > bytes)
    if ((await Promise.race([isThere.then(() => 'there'), running.finished])) !== 'there') break
    running.signal('SIGKILL')
    await running.finished
    kills += 1
  }
  expect(kills).toBeGreaterThan(0)
  const { code } = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(code).toBe(0)
  expect((await tasksOf(cwd)).map(({ name, state }) => [name, state])).toEqual([
    ...names.map((name) => [name, 'ended']),
    ['after', 'queued'],
  ])
  expect(new Set(linesOf(cwd, 'ran'))).toEqual(new Set([...names, 'main']))
  expect(await problemsOf(cwd)).toEqual([])
}, 120_000)

/** How many bytes the store of the only run has written since it was opened. */
function logSize(cwd: string): number {
  const [run = ''] = runsOf(cwd)
  return (
    statSync(join(cwd, 'forge/orch/runs', run, 'queue.sqlite-wal'), { throwIfNoEntry: false })
      ?.size ?? 0
  )
}

test('resume adds the event of an attempt whose end is only in the store', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=one 'echo uno'",
      '/run',
      'forkhestra receive > got; touch up; [ -e go ] || sleep 60',
    ].join('\n'),
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  running.signal('SIGKILL')
  await running.finished
  const events = join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!, 'events.ndjson')
  const lines = readFileSync(events, 'utf8').split('\n')
  const end = lines.findIndex((line) => line.includes('"type":"task_ended"'))
  expect(end).toBeGreaterThan(0)
  writeFileSync(events, lines.slice(0, end).join('\n') + '\n')
  writeFileSync(join(cwd, 'go'), '')
  expect((await forkhestra(['resume', '--kill-orphans'], { cwd })).code).toBe(0)
  expect(wrongEnds(cwd)).toEqual([])
})
