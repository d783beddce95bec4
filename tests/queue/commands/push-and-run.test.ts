import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../../support/forkhestra.ts'
import { ask, makeQueueProject, runPrompt, tasksOf } from '../../support/queue.ts'
import { runsOf } from '../../support/record.ts'

interface Received {
  readonly status: string
  readonly senders: readonly { readonly name: string; readonly status: string }[]
  readonly messages: readonly {
    readonly from: string
    readonly body?: string
    readonly class?: string
    readonly attempt?: number
    readonly output?: string
  }[]
}

function answersIn(cwd: string, file: string): Received[] {
  const lines = readFileSync(join(cwd, file), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Received)
}

test('push starts nothing and prints the name, even a generated one', async () => {
  const cwd = makeQueueProject(
    'forkhestra push touch ran > names; forkhestra push name=own touch ran >> names\n',
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  const names = readFileSync(join(cwd, 'names'), 'utf8').trim().split('\n')
  expect(names).toEqual([expect.stringMatching(/^task-[0-9a-z]+$/), 'own'])
  expect((await tasksOf(cwd)).map(({ name, state }) => [name, state])).toEqual(
    names.map((name) => [name, 'queued']),
  )
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
})

test('run N starts the N oldest tasks and returns at once', async () => {
  const cwd = makeQueueProject(
    [
      ...['a', 'b', 'c'].map(
        (name) => `/push name=${name} 'touch ${name}; until [ -e go ]; do sleep 0.05; done'`,
      ),
      'forkhestra run-queue --json 2 > said; until [ -e a ] && [ -e b ]; do sleep 0.05; done; touch go',
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(JSON.parse(readFileSync(join(cwd, 'said'), 'utf8'))).toMatchObject({
    started: ['a', 'b'],
    held: 0,
  })
  expect((await tasksOf(cwd)).map(({ state }) => state)).toEqual(['ended', 'ended', 'queued'])
  expect(existsSync(join(cwd, 'c'))).toBe(false)
})

test('tasks that are pushed during a drain are drained too, and later ones wait', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=first 'touch up; until [ -e pushed ]; do sleep 0.05; done'",
      '/run parallel=1',
      [
        'until [ -e up ]; do sleep 0.05; done; forkhestra push name=second "echo two"; touch pushed;',
        'forkhestra receive --json --from first,second > got; forkhestra push name=third true',
      ].join(' '),
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(answersIn(cwd, 'got')[0]?.messages.map(({ from }) => from)).toEqual(['first', 'second'])
  expect((await tasksOf(cwd)).map(({ name, state }) => [name, state])).toEqual([
    ['first', 'ended'],
    ['second', 'ended'],
    ['third', 'queued'],
  ])
})

test('queue lists queued, running and finished tasks and the remaining capacity', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=done 'true'",
      "/push name=works 'touch up; until [ -e go ]; do sleep 0.05; done'",
      '/run',
      'until [ -e up ]; do sleep 0.05; done; forkhestra push name=waits true; forkhestra receive --from done',
      'until forkhestra queue --json > queue.json && grep -q \'"ended":1\' queue.json; do sleep 0.05; done; touch go',
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  const { tasks, counts } = JSON.parse(readFileSync(join(cwd, 'queue.json'), 'utf8')) as {
    tasks: { name: string; state: string; ageMs: number }[]
    counts: object
  }
  expect(tasks.map(({ name, state }) => [name, state])).toEqual([
    ['done', 'ended'],
    ['works', 'running'],
    ['waits', 'queued'],
  ])
  expect(tasks[1]!.ageMs).toBeGreaterThanOrEqual(0)
  expect(counts).toMatchObject({ queued: 1, running: 1, ended: 1, slotsLeft: 15, queueLeft: 9999 })
})

test('a task name can be reused once its task has ended', async () => {
  const cwd = makeQueueProject(
    [
      '/push name=one "echo first"',
      '/run',
      [
        'forkhestra receive --from one > got; forkhestra push name=one "echo second" && forkhestra run-queue;',
        'forkhestra receive --from one >> got; forkhestra push name=one true; forkhestra push name=one true 2> taken',
      ].join(' '),
    ].join('\n'),
  )
  await runPrompt(cwd)
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toBe('[one: done]\nfirst\n[one: done]\nsecond\n')
  expect(readFileSync(join(cwd, 'taken'), 'utf8')).toContain(
    "A task named 'one' has not ended yet.",
  )
})

test('a sub-agent knows its own name and the name of its parent, and has its own queue', async () => {
  const parent = [
    'sh ./says; forkhestra push name=child "sh ./says" > /dev/null;',
    'forkhestra queue --json > own.json; forkhestra run-queue',
  ].join(' ')
  const cwd = makeQueueProject(
    [
      `/push name=parent ${JSON.stringify(parent)}`,
      '/run',
      'forkhestra receive --from parent',
    ].join('\n'),
    { says: 'echo "$FORKHESTRA_AGENT_NAME of $FORKHESTRA_PARENT_NAME" >> names' },
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'names'), 'utf8')).toBe('parent of main\nchild of parent\n')
  const own = JSON.parse(readFileSync(join(cwd, 'own.json'), 'utf8')) as {
    tasks: { name: string }[]
  }
  expect(own.tasks.map(({ name }) => name)).toEqual(['child'])
})

test('commands use the newest run, or the one given with --run', async () => {
  const cwd = makeQueueProject("/push name=one 'true'\ntrue\n")
  await runPrompt(cwd)
  const [older] = runsOf(cwd)
  writeFileSync(join(cwd, 'prompt.md'), "/push name=two 'true'\ntrue\n")
  await runPrompt(cwd)
  const names = async (...words: string[]) =>
    (await ask<{ tasks: { name: string }[] }>(cwd, 'queue', ...words)).tasks.map(({ name }) => name)
  expect(await names()).toEqual(['two'])
  expect(await names('--run', older!)).toEqual(['one'])
  expect((await forkhestra(['push', '--run', older!, 'name=more', 'true'], { cwd })).code).toBe(0)
  expect(await names('--run', older!)).toEqual(['one', 'more'])
  expect(await names()).toEqual(['two'])
})

test('queue and inbox persist from step to step', async () => {
  const cwd = makeQueueProject('', {
    'first.md':
      "/push name=one 'echo uno'\n/run\nforkhestra send main note\n/push name=two 'echo due'\n",
    'second.md':
      'forkhestra check > got; forkhestra run-queue; forkhestra receive --from two >> got\n',
    'forge/orch/chains.json': JSON.stringify({
      chains: {
        both: {
          steps: [
            { agent: './agent', promptFile: 'first.md' },
            { agent: './agent', promptFile: 'second.md' },
          ],
        },
      },
    }),
  })
  const { code, stderr } = await forkhestra(['--chain', 'both'], { cwd })
  expect(`${code} ${stderr}`).toBe('0 ')
  const got = readFileSync(join(cwd, 'got'), 'utf8')
  expect(got).toContain('[main] note\n')
  expect(got).toContain('[one: done]\nuno\n')
  expect(got).toEndWith('[two: done]\ndue\n')
})
