import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, isAlive, Running, survivors } from '../../support/forkhestra.ts'
import { makeQueueProject, problemsOf, startPrompt, tasksOf } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { until } from '../../support/until.ts'

/** Each has a child process, records both, and ignores the signals in `ignored`. */
const work = (ignored: string) =>
  [
    '[ -e go ] && exit 0;',
    ignored === '' ? '' : `trap "" ${ignored};`,
    'sleep 60 & echo $! >> pids; echo $$ >> pids; wait; wait',
  ].join(' ')

const NAMES = ['a', 'b', 'c', 'd']

/** Two of the four are retried, and one of them has a running child task. */
function makeBusy(ignored = '', grace = {}): string {
  const child = `forkhestra push name=child '. ./work.sh'; forkhestra run-queue; . ./work.sh`
  return makeQueueProject(
    [
      `/push name=a '. ./work.sh'`,
      `/push name=b retry=1 '. ./work.sh'`,
      `/push name=c retry=1 '. ./parent.sh'`,
      `/push name=d '. ./work.sh'`,
      '/push name=queued "true"',
      '/run 4',
      '[ -e go ] || sleep 60',
    ].join('\n'),
    {
      'work.sh': work(ignored),
      'parent.sh': child,
      'forge/orch/chains.json': JSON.stringify({ agents: { './agent': { grace } }, chains: {} }),
    },
  )
}

function pidsIn(cwd: string): number[] {
  const path = join(cwd, 'pids')
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
  return lines.map(Number)
}

const isBusy = (cwd: string) => pidsIn(cwd).length === 2 * (NAMES.length + 1)

async function statesOf(cwd: string): Promise<string[]> {
  const tasks = await tasksOf(cwd)
  return tasks.map(({ name, state, end }) => `${name} ${end?.class ?? state}`)
}

/** Running tasks are lost, or retried if allowed; the rest is unchanged. */
const STOPPED = ['a lost', 'b ready', 'c ready', 'd lost', 'queued queued', 'child lost']

async function expectStopped(cwd: string): Promise<void> {
  expect(survivors()).toEqual([])
  expect(pidsIn(cwd).filter(isAlive)).toEqual([])
  expect((await statesOf(cwd)).toSorted()).toEqual(STOPPED.toSorted())
  expect(await problemsOf(cwd)).toEqual([])
}

async function expectResumed(cwd: string): Promise<void> {
  writeFileSync(join(cwd, 'go'), '')
  const { code } = await forkhestra(['resume'], { cwd })
  expect(code).toBe(0)
  const tasks = await tasksOf(cwd)
  const again = tasks.filter(({ name }) => name === 'b' || name === 'c')
  expect(again.map(({ attempt, end }) => [attempt, end?.success])).toEqual([
    [2, true],
    [2, true],
  ])
  expect(await problemsOf(cwd)).toEqual([])
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends all running tasks, and a resumed run continues them', async (signal, exit) => {
  const cwd = makeBusy()
  const running = startPrompt(cwd)
  await until(() => isBusy(cwd))
  running.signal(signal)
  const { code } = await running.finished
  expect(code).toBe(exit)
  await expectStopped(cwd)
  const ended = ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_ended')
  expect(ended.map((event) => event.class)).toEqual(ended.map(() => 'lost'))
  expect(ended).toHaveLength(5)
  await expectResumed(cwd)
})

test('a second Ctrl-C kills agents that ignore the first', async () => {
  // Whatever waits for the end of this grace fails.
  const cwd = makeBusy('INT TERM', { term: '1h' })
  const running = startPrompt(cwd)
  await until(() => isBusy(cwd))
  running.signal('SIGINT')
  await until(() => running.stderr.includes('press Ctrl-C again'))
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  await expectStopped(cwd)
  await expectResumed(cwd)
})

test('stop --now ends all running tasks', async () => {
  const cwd = makeBusy()
  const running = startPrompt(cwd)
  await until(() => isBusy(cwd))
  expect((await forkhestra(['stop', '--now'], { cwd })).code).toBe(0)
  expect((await running.finished).code).toBe(130)
  await expectStopped(cwd)
  await expectResumed(cwd)
})

test('run-queue can be stopped like a run and continued later', async () => {
  const cwd = makeQueueProject('true\n/push name=a retry=1 ". ./work.sh"', { 'work.sh': work('') })
  expect((await startPrompt(cwd).finished).code).toBe(0)
  const running = new Running(['run-queue'], { cwd })
  await until(() => pidsIn(cwd).length === 2)
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  expect(survivors()).toEqual([])
  expect(await statesOf(cwd)).toEqual(['a ready'])
  writeFileSync(join(cwd, 'go'), '')
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  expect((await tasksOf(cwd)).map(({ attempt, end }) => [attempt, end?.success])).toEqual([
    [2, true],
  ])
})
