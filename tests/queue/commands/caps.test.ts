import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, shell } from '../../support/forkhestra.ts'
import { makeQueueProject, tasksOf } from '../../support/queue.ts'
import { runsOf } from '../../support/record.ts'

const CONFIGURATION = 'forge/orch/chains.json'

function makeCapped(queueLimits: Record<string, unknown>, prompt = 'true\n'): string {
  const steps = [{ agent: './agent', promptFile: 'prompt.md' }]
  const text = JSON.stringify({ queueLimits, chains: { work: { steps } } })
  return makeQueueProject(prompt, { [CONFIGURATION]: text })
}

const push = (cwd: string, ...words: string[]) => forkhestra(['push', ...words], { cwd })

test('the configuration limits how many tasks are queued and running', async () => {
  const cwd = makeCapped({ running: 1, queued: 2 })
  await push(cwd, 'agent=./agent', 'name=a', 'echo a')
  await push(cwd, 'agent=./agent', 'name=b', 'echo b')
  const third = await push(cwd, 'name=c', 'echo c')
  expect(third.stderr).toContain('3 tasks would wait, the limit is 2')
  expect(third.code).toBe(2)
  const { stdout, code } = await forkhestra(['run-queue'], { cwd })
  expect(stdout).toContain(
    'Started: a\n1 task stays queued: the limit of running tasks is reached.\n',
  )
  expect(code).toBe(0)
  expect(await tasksOf(cwd)).toMatchObject([{ state: 'ended' }, { state: 'queued' }])
  expect((await forkhestra(['queue'], { cwd })).stdout).toContain(
    'capacity left: 1 running, 1 queued',
  )
})

test('the configuration limits the depth of tasks for the agents of a run', async () => {
  const cwd = makeCapped({ depth: 1 }, `/push name=a 'forkhestra push "true" 2>&1'\n/run\ntrue\n`)
  await forkhestra(['--chain', 'work'], { cwd })
  const { stdout } = await forkhestra(['check'], { cwd })
  expect(stdout).toContain('A task at depth 2 is refused: the limit is 1.')
})

test('the configuration limits the size of a message', async () => {
  const cwd = makeCapped({ messageBytes: 1_200_000 })
  await forkhestra(['--chain', 'work'], { cwd })
  await push(cwd, 'name=a', 'true')
  const send = (bytes: number) =>
    shell(`head -c ${bytes} /dev/zero | tr '\\0' x | forkhestra send a -`, cwd)
  expect((await send(1_200_000)).code).toBe(0)
  const long = await send(1_200_001)
  expect(long.stderr).toContain('A message of 1200001 bytes is refused: the limit is 1200000.')
  expect(long.code).toBe(2)
})

test('a record without events still has queues, with the default limits', async () => {
  const cwd = makeCapped({ queued: 1 })
  await forkhestra(['--chain', 'work'], { cwd })
  const run = runsOf(cwd)[0]!
  const record = join(cwd, 'forge/orch/runs', run)
  for (const name of ['events.ndjson', 'plan.json']) rmSync(join(record, name))
  const env = { FORKHESTRA_RUN_ID: run, FORKHESTRA_RECORD: record }
  for (const name of ['a', 'b']) {
    const { code, stdout } = await forkhestra(['push', `name=${name}`, 'true'], { cwd, env })
    expect([code, stdout]).toEqual([0, `${name}\n`])
  }
})

test.each([
  ['an invalid limit', { running: 0 }, 'queueLimits.running', 'a positive integer'],
  ['less than every result needs', { messageBytes: 10 }, 'messageBytes', '1048576'],
  ['an unknown limit', { runing: 3 }, 'runing', 'running'],
])('%s is refused with its location', async (_, limits, place, words) => {
  const { code, stderr } = await forkhestra(['validate'], { cwd: makeCapped(limits) })
  expect(stderr).toContain(place)
  expect(stderr).toContain(words)
  expect(code).toBe(2)
})
