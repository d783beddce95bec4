import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running, survivors } from '../../support/forkhestra.ts'
import { ask, makeQueueProject, problemsOf, runPrompt, tasksOf } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { until } from '../../support/until.ts'

/** What a CLI prints while it is rate limited, and does afterwards. */
const LIMITED = [
  'echo $FORKHESTRA_AGENT_NAME >> tried;',
  '[ -e open ] || [ $(date +%s) -ge $(cat reset) ] ||',
  '{ echo "Claude AI usage limit reached|$(cat reset)"; exit 1; }; echo result',
].join(' ')

/** Runs tasks against a limit that is reset in this many seconds. */
function makeLimited(names: readonly string[], seconds: number, parallel = 1): string {
  const push = (name: string) => `/push name=${name} '. ./limited.sh'`
  const cwd = makeQueueProject(
    [
      ...names.map(push),
      `/run parallel=${parallel}`,
      `forkhestra receive --json --from ${names.join(',')} > got`,
    ].join('\n'),
    { 'limited.sh': LIMITED },
  )
  writeFileSync(join(cwd, 'reset'), String(Math.floor(Date.now() / 1000) + seconds))
  return cwd
}

function eventsOf(cwd: string) {
  return journalOf(cwd, runsOf(cwd)[0] ?? '')
}

function tried(cwd: string): string[] {
  return readFileSync(join(cwd, 'tried'), 'utf8').trim().split('\n')
}

function start(cwd: string, ...more: string[]): Running {
  return new Running(['./agent', '--prompt-file', 'prompt.md', ...more], { cwd })
}

const isWaiting = (cwd: string) => ofType(eventsOf(cwd), 'waiting').length > 0

test('a rate-limited task waits for the reset, and no other task hits the same limit', async () => {
  const cwd = makeLimited(['a', 'b', 'c'], 4)
  const running = start(cwd)
  await until(() => isWaiting(cwd))
  expect(await ask<object>(cwd, 'runs')).toMatchObject({ runs: [{ status: 'waiting' }] })
  const { code, stdout, stderr } = await running.finished
  expect(code).toBe(0)
  expect(stderr).toContain('Task a: waiting for the limit to reset')
  expect(stdout).toContain('Task a: the wait is over')
  const [first, ...afterwards] = tried(cwd)
  expect([first, afterwards.toSorted()]).toEqual(['a', ['a', 'b', 'c']])
  const tasks = await tasksOf(cwd)
  // Its policy allows no retry, and none was needed.
  expect(tasks.map(({ attempt, end }) => [attempt, end?.success])).toEqual([
    [2, true],
    [1, true],
    [1, true],
  ])
  expect(ofType(eventsOf(cwd), 'waiting')).toMatchObject([{ task: 'a', why: 'quota' }])
  expect(ofType(eventsOf(cwd), 'waited')).toMatchObject([{ task: 'a', cause: 'over' }])
  expect(await problemsOf(cwd)).toEqual([])
})

test('tasks that hit the same limit at once wait once', async () => {
  const names = ['a', 'b', 'c', 'd']
  const cwd = makeLimited(names, 4, 4)
  expect((await start(cwd).finished).code).toBe(0)
  expect(ofType(eventsOf(cwd), 'waiting')).toHaveLength(1)
  expect((await tasksOf(cwd)).map(({ end }) => end?.success)).toEqual([true, true, true, true])
  expect(await problemsOf(cwd)).toEqual([])
})

test('other agents keep working while one kind waits for its limit', async () => {
  const cwd = makeLimited(['a', 'b'], 3600, 2)
  const other = '#!/bin/sh\ntouch other-done\n'
  writeFileSync(join(cwd, 'other'), other, { mode: 0o755 })
  const prompt = readFileSync(join(cwd, 'prompt.md'), 'utf8')
  const receive = prompt.trimEnd().split('\n').at(-1)!
  const more = 'forkhestra push agent=./other x; forkhestra run-queue'
  const turn = `until grep -q waiting "$FORKHESTRA_RECORD/events.ndjson"; do sleep 0.05; done`
  writeFileSync(join(cwd, 'prompt.md'), prompt.replace(receive, `${turn}; ${more}; ${receive}`))
  const running = start(cwd)
  await until(() => existsSync(join(cwd, 'other-done')))
  expect(tried(cwd).toSorted()).toEqual(['a', 'b'])
  writeFileSync(join(cwd, 'open'), '')
  expect((await forkhestra(['retry-now'], { cwd })).code).toBe(0)
  expect((await running.finished).code).toBe(0)
  expect(ofType(eventsOf(cwd), 'waited')).toMatchObject([{ cause: 'retry_now' }])
})

test('a limit beyond maxWait fails all tasks that would hit it', async () => {
  const cwd = makeLimited(['a', 'b', 'c'], 3600)
  const agents = { './agent': { maxWait: '1m' } }
  writeFileSync(join(cwd, 'forge/chains.json'), JSON.stringify({ agents, chains: {} }))
  const { code } = await runPrompt(cwd, '--config', 'forge/chains.json')
  expect(code).toBe(0)
  expect(tried(cwd)).toEqual(['a'])
  const { messages } = JSON.parse(readFileSync(join(cwd, 'got'), 'utf8')) as {
    messages: { class: string; error: string }[]
  }
  expect(messages.map((message) => message.class)).toEqual(['fatal', 'fatal', 'fatal'])
  for (const { error } of messages)
    expect(error).toMatch(/the limit resets at .*: waiting would exceed the maxWait of 1 min/)
})

test('a run that is stopped while waiting keeps its tasks, and waits again when resumed', async () => {
  const cwd = makeLimited(['a', 'b'], 3600)
  const running = start(cwd)
  await until(() => isWaiting(cwd))
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  expect(survivors()).toEqual([])
  expect((await tasksOf(cwd)).map(({ state }) => state)).toEqual(['ready', 'ready'])
  const resumed = new Running(['resume'], { cwd })
  await until(() => ofType(eventsOf(cwd), 'waiting').length === 2)
  expect(tried(cwd)).toEqual(['a'])
  writeFileSync(join(cwd, 'open'), '')
  expect((await forkhestra(['retry-now'], { cwd })).code).toBe(0)
  expect((await resumed.finished).code).toBe(0)
  expect((await tasksOf(cwd)).map(({ end }) => end?.success)).toEqual([true, true])
  expect(await problemsOf(cwd)).toEqual([])
})

test('after an authentication failure, other tasks of the same kind are not started', async () => {
  const denied = 'echo x >> tried; echo "Invalid API key · Please run /login"; exit 1'
  const cwd = makeQueueProject(
    [
      ...['a', 'b', 'c'].map((name) => `/push name=${name} retry=5 '${denied}'`),
      '/run parallel=1',
      'forkhestra receive --json --from a,b,c > got',
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(tried(cwd)).toEqual(['x'])
  const tasks = await tasksOf(cwd)
  expect(tasks.map(({ attempt, end }) => [attempt, end?.class])).toEqual([
    [1, 'fatal'],
    [1, 'fatal'],
    [1, 'fatal'],
  ])
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toContain('not started')
})
