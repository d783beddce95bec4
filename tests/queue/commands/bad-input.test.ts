import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, shell } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import { ask, makeQueueProject, problemsOf, runPrompt, tasksOf } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'

interface Received {
  readonly status: string
  readonly deadlock?: readonly string[]
  readonly messages: readonly {
    readonly from: string
    readonly body?: string
    readonly class?: string
    readonly error?: string
    readonly output?: string
  }[]
}

function answersIn(cwd: string, file: string): Received[] {
  const lines = readFileSync(join(cwd, file), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Received)
}

test('a NUL byte is delivered in a message, refused in a prompt and harmless in a result', async () => {
  const cwd = makeQueueProject(
    [
      '/push name=prints \'printf "a\\\\000b"\'',
      [
        String.raw`printf 'x\000y' | forkhestra send main -;`,
        'forkhestra receive --json > got;',
        String.raw`printf 'touch ran\000' | forkhestra push name=nul - 2> refused;`,
        'forkhestra run-queue; forkhestra receive --json --from prints >> got',
      ].join(' '),
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  const [sent, results] = answersIn(cwd, 'got')
  expect(sent?.messages).toMatchObject([{ from: 'main', body: 'x\0y' }])
  expect(results?.messages).toMatchObject([
    { from: 'prints', output: expect.stringMatching(/^a.?b$/) },
  ])
  expect(readFileSync(join(cwd, 'refused'), 'utf8')).toContain('NUL')
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
  expect(await problemsOf(cwd)).toEqual([])
})

test('a prompt of only commands is carried out, and the agent runs without a prompt', async () => {
  const cwd = makeQueueProject(
    [
      String.raw`/push name=queues "/push name=started 'echo bee'\n/run\n/push name=never 'touch ran'"`,
      '/run',
      'forkhestra receive --json --from queues,started,never > got',
    ].join('\n'),
    { agent: sh('echo "$#" >> counts', 'eval "$1"') },
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  const [{ messages } = { messages: [] }] = answersIn(cwd, 'got')
  expect(messages.map(({ from }) => from).toSorted()).toEqual(['never', 'queues', 'started'])
  expect(messages.find(({ from }) => from === 'started')).toMatchObject({ output: 'bee' })
  // Its queue was cancelled with it, which is reported.
  expect(messages.find(({ from }) => from === 'never')).toMatchObject({ class: 'cancelled' })
  expect(readFileSync(join(cwd, 'counts'), 'utf8').trim().split('\n').toSorted()).toEqual([
    '0',
    '1',
    '1',
  ])
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
})

test.each([
  'a\nb',
  '..',
  '.',
  'a/b',
  '../up',
  '-x',
  'a\tb',
  '\u001b[31m',
  'a,b',
  'x'.repeat(101),
  '',
])('%j is refused as a task name everywhere', async (name) => {
  const cwd = makeQueueProject('touch ran\n')
  const typed = await forkhestra(['push', '--name', name, 'true'], { cwd })
  expect(typed.code).toBe(2)
  expect(typed.stderr).toContain('name')
  expect(runsOf(cwd)).toEqual([])
  const quoted = name.replaceAll('\n', String.raw`\n`).replaceAll('\t', String.raw`\t`)
  await Bun.write(join(cwd, 'prompt.md'), `/push name="${quoted}" "true"\ntouch ran\n`)
  const prompt = await runPrompt(cwd)
  expect(prompt.code).toBe(2)
  expect(prompt.stderr).toMatch(/prompt\.md:1:\d+/)
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
})

test.each([[['send', 'a\nb', 'x']], [['cancel', '..']], [['send', '\u001b[2J', 'x']]])(
  'an impossible name is refused: %j',
  async (words) => {
    const cwd = makeQueueProject("/push name=one 'true'\ntrue\n")
    await runPrompt(cwd)
    const { code, stdout, stderr } = await forkhestra(words, { cwd })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('This run has no agent or task named')
    expect(stderr).not.toContain('\u001b')
  },
)

test('an agent whose name is not in the run can do nothing', async () => {
  const cwd = makeQueueProject(
    'FORKHESTRA_AGENT_NAME=../x forkhestra push true 2> said; echo $? >> said\n',
  )
  await runPrompt(cwd)
  expect(readFileSync(join(cwd, 'said'), 'utf8')).toMatch(
    /which task '\.\.\/x' belongs to: FORKHESTRA_TASK_ID is not set[\s\S]*\n2\n$/,
  )
  expect(await tasksOf(cwd)).toEqual([])
})

test('a message of a million characters is delivered; one beyond the limit is refused', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=tells 'sh ./tells'",
      '/run',
      'forkhestra receive --json --from tells > got; forkhestra receive --json --from tells >> got',
    ].join('\n'),
    {
      tells: [
        'of() { head -c "$1" /dev/zero | tr "\\000" x; }',
        'of 1000000 | forkhestra send main - || echo refused',
        'of 1048577 | forkhestra send main - 2> big; echo $? >> big',
        'of 1048577 | forkhestra push name=big - 2>> big; echo $? >> big',
      ].join('\n'),
    },
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  const [sent, result] = answersIn(cwd, 'got')
  expect(sent?.messages[0]?.body).toBe('x'.repeat(1_000_000))
  expect(result?.messages).toMatchObject([{ from: 'tells', output: '' }])
  const said = readFileSync(join(cwd, 'big'), 'utf8')
  expect(said).toMatch(/A message of 1048577 bytes is refused: the limit is 1048576\.[\s\S]*\n2\n/)
  expect(said).toMatch(/A prompt of 1048577 bytes is refused[\s\S]*\n2\n$/)
  expect(await tasksOf(cwd)).toHaveLength(1)
  expect(await problemsOf(cwd)).toEqual([])
})

test('size limits count bytes, not characters', async () => {
  const cwd = makeQueueProject("/push name=one 'true'\ntrue\n")
  await runPrompt(cwd)
  const send = (count: number) =>
    shell(`printf '€%.0s' $(seq ${count}) | forkhestra send main -`, cwd)
  expect((await send(349_525)).code).toBe(0)
  const { code, stderr } = await send(349_526)
  expect(code).toBe(2)
  expect(stderr).toContain('A message of 1048578 bytes is refused')
  const { messages } = await ask<Received>(cwd, 'check')
  expect(messages.map(({ body }) => body?.length)).toEqual([349_525])
})

test('ten thousand tasks can be queued, and a push of twenty thousand queues none', async () => {
  const pushes = (count: number) =>
    Array.from({ length: count }, (_, index) => `/push name=n${index} "true"`)
  const cwd = makeQueueProject([...pushes(20_000), '/run parallel=4', 'touch ran'].join('\n'))
  const refused = await runPrompt(cwd)
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('prompt.md:10001:1')
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
  expect(await tasksOf(cwd)).toEqual([])
  await Bun.write(
    join(cwd, 'prompt.md'),
    [...pushes(10_000), 'forkhestra push one-more 2> said; echo $? >> said'].join('\n'),
  )
  const taken = await runPrompt(cwd)
  expect(taken.code).toBe(0)
  expect(taken.stdout).toContain('and 9980 more; to start: forkhestra run-queue')
  expect(readFileSync(join(cwd, 'said'), 'utf8')).toMatch(/queue is full: 10001[\s\S]*\n2\n$/)
  expect(await ask<object>(cwd, 'queue')).toMatchObject({
    counts: { queued: 10_000, queueLeft: 0 },
  })
  expect(await problemsOf(cwd)).toEqual([])
})

test('nesting stops at the depth limit, and every level is notified', async () => {
  const deeper = [
    'level=$1',
    'forkhestra push name=level$level "sh ./deeper $((level + 1))" > /dev/null 2>> said || exit 0',
    'forkhestra run-queue > /dev/null; forkhestra receive --json --from level$level >> got',
    'exit 0',
  ].join('\n')
  const cwd = makeQueueProject('sh ./deeper 1\n', { deeper })
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'said'), 'utf8')).toContain('A task at depth 6 is refused')
  expect(answersIn(cwd, 'got').map(({ messages }) => messages[0]?.from)).toEqual([
    'level5',
    'level4',
    'level3',
    'level2',
    'level1',
  ])
  expect(await problemsOf(cwd)).toEqual([])
})

test('waiting for itself is reported to an agent, and it gets its own messages', async () => {
  const asks = (name: string) =>
    [
      `forkhestra receive --json --from ${name} >> ${name}.json;`,
      `forkhestra send ${name} note; forkhestra receive --json --from ${name} >> ${name}.json`,
    ].join(' ')
  const cwd = makeQueueProject([`/push name=one '${asks('one')}'`, '/run', asks('main')].join('\n'))
  expect((await runPrompt(cwd)).code).toBe(0)
  for (const name of ['one', 'main']) {
    expect(answersIn(cwd, `${name}.json`)).toMatchObject([
      { status: 'deadlock', deadlock: [name], messages: [] },
      { status: 'received', messages: [{ from: name, body: 'note' }] },
    ])
  }
  expect(ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_ended')).toMatchObject([{ success: true }])
})
