import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment, FORKHESTRA, shell } from '../../support/forkhestra.ts'
import {
  ask,
  makeQueueProject,
  problemsOf,
  runPrompt,
  startPrompt,
  tasksOf,
} from '../../support/queue.ts'
import { readStore } from '../../support/queue-records.ts'
import { fileIn, until } from '../../support/until.ts'

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

test('check selects messages by order, sender and count', async () => {
  const cwd = makeQueueProject(
    [
      ...['a', 'b'].map(
        (name) =>
          `/push name=${name} 'for i in 1 2 3; do forkhestra send main ${name}$i; done; touch ${name}'`,
      ),
      '/run parallel=1',
      'until [ -e a ] && [ -e b ]; do sleep 0.05; done',
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  const bodies = async (...words: string[]) =>
    (await ask<Received>(cwd, 'check', ...words)).messages.map(({ body, from }) => body ?? from)
  expect(await bodies('--from', 'b', '--max', '2')).toEqual(['b1', 'b2'])
  expect(await bodies('--from', 'a', '--lifo', '--max', '2')).toEqual(['a', 'a3'])
  expect(await bodies('from=b', 'max=1')).toEqual(['b3'])
  expect(await bodies('--from', 'nobody')).toEqual([])
  expect(await bodies()).toEqual(['a1', 'a2', 'b'])
  expect(await bodies()).toEqual([])
  expect(await problemsOf(cwd)).toEqual([])
})

test('receive reports the status of each sender after its timeout', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=answers 'forkhestra send main hi; until [ -e go ]; do sleep 0.05; done'",
      "/push name=works 'until [ -e go ]; do sleep 0.05; done'",
      "/push name=waits 'true'",
      '/run 2',
      [
        'until forkhestra inbox | grep -q answers; do sleep 0.05; done;',
        'forkhestra receive --json --timeout 0.2 --from answers,works,waits,nobody > got;',
        'forkhestra send answers one; forkhestra send answers two; touch go',
      ].join(' '),
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(answersIn(cwd, 'got')).toMatchObject([
    {
      status: 'timeout',
      senders: [
        { name: 'answers', status: 'received' },
        { name: 'works', status: 'running' },
        { name: 'waits', status: 'idle' },
        { name: 'nobody', status: 'dead' },
      ],
      messages: [{ from: 'answers', body: 'hi' }],
    },
  ])
})

test('receive --lifo takes the newest message', async () => {
  const cwd = makeQueueProject(
    'for i in 1 2 3 4; do forkhestra send main $i; done; forkhestra receive --lifo > got; forkhestra receive >> got\n',
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toBe('[main] 4\n[main] 1\n')
})

test('a task that fails on its last attempt is delivered as transient, with the attempt number', async () => {
  const cwd = makeQueueProject(
    [
      `/push name=weak retry=1 'echo "API Error: 529 overloaded_error"; exit 1'`,
      '/run',
      'forkhestra receive --json --from weak > got',
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(answersIn(cwd, 'got')[0]?.messages).toMatchObject([{ class: 'transient', attempt: 2 }])
  expect(await tasksOf(cwd)).toMatchObject([{ name: 'weak', attempt: 2 }])
})

test('a message that was leased to a killed reader is delivered to the next', async () => {
  const cwd = makeQueueProject("/push name=one 'true'\ntrue\n")
  await runPrompt(cwd)
  await shell('head -c 500000 /dev/zero | tr "\\0" x | forkhestra send main -', cwd)
  // Its output is not read, so it blocks halfway.
  const script = 'mkfifo pipe; sleep 60 < pipe & echo $! > deaf; exec forkhestra check > pipe'
  const reader = Bun.spawn(['sh', '-c', script], {
    cwd,
    env: { ...environment({ cwd }), PATH: `${dirname(FORKHESTRA)}:${process.env['PATH']}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const held = 'select 1 from message where reader is not null'
  await until(() => readStore<object>(cwd, held).length === 1)
  reader.kill('SIGKILL')
  await reader.exited
  process.kill(Number(readFileSync(join(cwd, 'deaf'), 'utf8')), 'SIGKILL')
  const { messages } = await ask<Received>(cwd, 'check')
  expect(messages.map(({ body }) => body?.length)).toEqual([500_000])
  expect(await problemsOf(cwd)).toEqual([])
})

test('a message wakes one reader, and the others keep waiting', async () => {
  const cwd = makeQueueProject(
    "/push name=one 'touch up; until [ -e go ]; do sleep 0.05; done; for i in 1 2 3 4; do forkhestra send main $i; done; until [ -e end ]; do sleep 0.05; done'\n/run\nuntil [ -e end ]; do sleep 0.05; done\n",
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  const readers = Array.from({ length: 4 }, () => ask<Received>(cwd, 'receive'))
  await until(() => readStore<object>(cwd, 'select 1 from waiting').length === 4)
  writeFileSync(join(cwd, 'go'), '')
  const bodies = (await Promise.all(readers)).flatMap(({ messages }) =>
    messages.map(({ body = '' }) => body),
  )
  expect(bodies.toSorted()).toEqual(['1', '2', '3', '4'])
  writeFileSync(join(cwd, 'end'), '')
  expect((await running.finished).code).toBe(0)
  expect(await problemsOf(cwd)).toEqual([])
})
