import { expect, test } from 'bun:test'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { FORKHESTRA, environment, forkhestra, isAlive, shell } from '../../support/forkhestra.ts'
import { McpClient, type Message } from '../../support/mcp.ts'
import { makeProject, sh, writeFiles } from '../../support/project.ts'
import { ask, makeQueueProject, problemsOf, tasksOf } from '../../support/queue.ts'
import { runsOf } from '../../support/record.ts'
import { fileIn, until } from '../../support/until.ts'

const QUEUE_TOOLS = ['push', 'run', 'receive', 'check', 'send', 'queue', 'inbox', 'cancel']
const TASKS = ['next', 'edit', 'view', 'list', 'create', 'claim', 'archive', 'doctor']

/** Every conversation pays for it: about 1600 tokens, 600 of them for the queue tools. */
const LIST_BYTES = 6600
const QUEUE_TOOLS_BYTES = 2500

/** A task whose prompt is a script. */
const task = (name: string, prompt: string, more = {}) => ({
  name,
  prompt,
  agent: './agent',
  ...more,
})

test('the list of tools is short', async () => {
  await using agent = await McpClient.start(makeQueueProject(''))
  const { tools } = await agent.client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    ...QUEUE_TOOLS,
    ...TASKS.map((name) => `task_${name}`),
  ])
  expect(JSON.stringify(tools).length).toBeLessThan(LIST_BYTES)
  expect(JSON.stringify(tools.slice(0, QUEUE_TOOLS.length)).length).toBeLessThan(QUEUE_TOOLS_BYTES)
  const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint === true)
  expect(reading.map(({ name }) => name)).toEqual(['queue', 'inbox', 'task_view', 'task_list'])
})

test.each([['legacy'], [{ pin: '2026-07-28' }]] as const)(
  'a standard client can push, run and receive with tools alone (%j)',
  async (era) => {
    const cwd = makeQueueProject('')
    await using agent = await McpClient.start(cwd, { era })
    expect(await agent.call('push', task('good', 'echo fine'))).toBe('{"name":"good"}')
    await agent.call('push', task('bad', 'echo half; exit 3', { timeout: 60, retry: 2 }))
    const { name: unnamed } = await agent.ask('push', { prompt: 'true', agent: './agent' })
    expect(unnamed).toMatch(/^task-\w+$/)
    expect(await agent.call('run', { count: 2 })).toBe('{"started":["good","bad"],"held":0}')
    const { status, senders, messages } = await agent.ask('receive', { from: ['good', 'bad'] })
    expect(status).toBe('received')
    expect(senders).toEqual([
      { name: 'good', status: 'received' },
      { name: 'bad', status: 'received' },
    ])
    const ids = { at: expect.any(String), task: expect.any(String) as string }
    expect(messages as readonly object[]).toEqual([
      { kind: 'result', from: 'good', ...ids, attempt: 1, success: true, output: 'fine' },
      {
        kind: 'result',
        from: 'bad',
        ...ids,
        attempt: 1,
        success: false,
        class: 'fatal',
        error: 'exit 3',
        partial_output: 'half',
        cost: null,
      },
    ])
    expect(JSON.parse(await agent.call('queue'))).toMatchObject({
      tasks: [
        { name: unnamed, state: 'queued' },
        { name: 'bad', state: 'failed: fatal' },
        { name: 'good', state: 'done' },
      ],
      run: { queued: 1, running: 0, ended: 2, may_start: 16 },
    })
    expect(await agent.call('cancel', { name: unnamed })).toBe(
      JSON.stringify({ ended: [unnamed], told: [] }),
    )
    expect(await agent.call('send', { to: 'main', message: 'note to myself' })).toBe(
      '{"sent":"main"}',
    )
    // Messages are acknowledged once the server knows that its answer was read.
    while ((await agent.ask('inbox')).messages.length > 2) await Bun.sleep(5)
    expect((await agent.ask('inbox')).messages).toMatchObject([
      { from: unnamed, kind: 'result' },
      { from: 'main', kind: 'text' },
    ])
    const newest = await agent.ask('check', { lifo: true, max: 1 })
    expect(newest.messages).toMatchObject([{ from: 'main', body: 'note to myself' }])
    expect(newest.more).toBe(1)
    expect((await agent.ask('check', { from: [unnamed] })).messages).toMatchObject([
      { success: false, class: 'cancelled' },
    ])
    expect((await agent.ask('receive')).status).toBe('nothing_to_wait_for')
    expect(await problemsOf(cwd)).toEqual([])
  },
)

test('the conversation in the docs is accurate', async () => {
  const docs = readFileSync(join(import.meta.dir, '../../../docs/reference/mcp.md'), 'utf8')
  const lines = /```text\n(push .*?)```/s.exec(docs)?.[1]?.trim().split('\n') ?? []
  expect(lines).toHaveLength(8)
  const cwd = makeProject({ 'forge/.keep': '', worker: sh('echo "done: $1"') })
  await using agent = await McpClient.start(cwd)
  for (let index = 0; index < lines.length; index += 2) {
    const [, tool = '', input = ''] = /^(\w+) (.*)$/.exec(lines[index]!) ?? []
    const answer = await agent.call(tool, JSON.parse(input) as object)
    const steady = answer.replaceAll(/"(at|task)":"[^"]+"/g, '"$1":"…"')
    expect(`→ ${steady}`).toBe(lines[index + 1]!)
  }
})

test('the server also has the task tools of the project', async () => {
  await using agent = await McpClient.start(makeQueueProject(''))
  expect(await agent.call('task_create', { tasks: [{ title: 'Write', ac: ['Read'] }] })).toBe(
    'TASK-001',
  )
  expect(await agent.call('task_next', { claim: true })).toContain('assignee: stock\n')
})

test('an invalid call is answered with the reason and changes nothing', async () => {
  const cwd = makeQueueProject('')
  await using agent = await McpClient.start(cwd)
  const none = 'REFUSED No agent of this run has queued anything.\nSee the tool queue.'
  expect(await agent.call('send', { to: 'x', message: 'y' })).toBe(none)
  expect(await agent.call('cancel', { name: 'x' })).toBe(none)
  expect(await agent.call('queue')).toBe('{"tasks":[]}')
  expect(runsOf(cwd)).toEqual([])
  await agent.call('push', task('first', 'true'))
  const refused = [
    ['push', task('a\nb', 'true'), '"a\\nb" is not a valid task name.'],
    ['push', task('main', 'true'), "'main' is reserved for the first agent"],
    ['push', task('first', 'true'), "A task named 'first' has not ended yet."],
    ['push', task('x', ' \n'), 'The prompt of the task is empty.'],
    ['push', task('x', 'x'.repeat(2 ** 20 + 1)), 'A prompt of 1048577 bytes is refused'],
    ['push', task('x', 'true', { retry: 1.5 }), 'retry is "1.5"'],
    ['push', task('x', 'true', { timeout: -1 }), 'timeout: must not be negative'],
    ['push', task('x', 'true', { timeout: 0 }), 'timeout must be greater than 0.'],
    ['push', task('x', 'true', { isolation: 'none' }), 'isolation is "none"'],
    ['push', task('x', 'true', { agent: 'a\u0000b' }), 'agent is'],
    ['push', task('x', 'true', { nmae: 'y' }), 'Unrecognized key: "nmae"'],
    ['run', { count: 0 }, 'count: must be a positive integer'],
    ['run', { count: 1, parallel: 1 }, 'Use either count or parallel, not both.'],
    ['send', { to: 'nobody', message: 'x' }, "This run has no agent or task named 'nobody'."],
    ['send', { to: 'main', message: 'x'.repeat(2 ** 20 + 1) }, 'A message of 1048577 bytes'],
    ['cancel', { name: 'main' }, "'main' is not a task and cannot be cancelled."],
    ['check', { from: [] }, 'from is empty.'],
  ] as const
  for (const [name, input, words] of refused) {
    const answer = await agent.call(name, input)
    expect(answer).toStartWith('REFUSED ')
    expect(answer).toContain(words)
  }
  expect((await tasksOf(cwd)).map(({ name, state }) => [name, state])).toEqual([
    ['first', 'queued'],
  ])
  const million = 'ü'.repeat(500_000)
  expect(await agent.call('send', { to: 'main', message: million })).toBe('{"sent":"main"}')
  expect((await agent.ask('check')).messages[0]?.body).toBe(million)
})

test('a task whose agent was deleted meanwhile fails with that reason', async () => {
  const cwd = makeQueueProject('')
  writeFiles(cwd, { gone: sh('exit 0') })
  await using agent = await McpClient.start(cwd)
  await agent.call('push', { name: 'lost', prompt: 'true', agent: './gone' })
  rmSync(join(cwd, 'gone'))
  await agent.call('run')
  const { messages } = await agent.ask('receive', { from: ['lost'] })
  expect(messages).toMatchObject([{ success: false, class: 'precondition' }])
})

test('concurrent calls share one run, and a waiting call does not block the others', async () => {
  const cwd = makeQueueProject('')
  await using agent = await McpClient.start(cwd)
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
  const go = 'until [ -e go ]; do sleep 0.05; done; echo'
  await Promise.all(names.map((name) => agent.call('push', task(name, `${go} ${name}`))))
  expect(runsOf(cwd)).toHaveLength(1)
  expect((await agent.ask('run', { parallel: 4 })).started).toHaveLength(20)
  const waiting = names.map((name) => agent.ask('receive', { from: [name] }))
  expect(JSON.parse(await agent.call('queue'))).toMatchObject({ run: { ended: 0 } })
  await Bun.write(join(cwd, 'go'), '')
  const got = (await Promise.all(waiting)).flatMap(({ messages }) => messages)
  expect(got.map(({ output }) => output)).toEqual(names)
  expect(await problemsOf(cwd)).toEqual([])
})

test('a cancelled receive takes no message', async () => {
  const cwd = makeQueueProject('')
  await using agent = await McpClient.start(cwd)
  await agent.call('push', task('slow', 'touch begun; until [ -e go ]; do sleep 0.05; done'))
  await agent.call('run')
  await fileIn(cwd, 'begun')
  const cancel = new AbortController()
  const waiting = agent.call('receive', {}, cancel.signal).catch(() => 'given up')
  expect(await agent.call('inbox')).toBe('{"messages":[]}')
  cancel.abort()
  expect(await waiting).toBe('given up')
  await agent.call('send', { to: 'main', message: 'later' })
  expect((await agent.ask('receive')).messages).toMatchObject([{ body: 'later' }])
  expect((await agent.ask('receive', { timeout: 0.05 })).status).toBe('timeout')
  await Bun.write(join(cwd, 'go'), '')
  expect((await agent.ask('receive')).messages).toMatchObject([{ from: 'slow', success: true }])
})

/** Asks for its messages and never reads the answer. */
const DEAF_CLIENT = sh(
  'mkfifo in out',
  '"$1" mcp < in > out &',
  'exec 3> in 4< out',
  `echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}' >&3`,
  'read -r answer <&4',
  `echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3`,
  `echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"check","arguments":{}}}' >&3`,
  'wait',
)

test.each([[10], [1_000_000]])(
  'a message of %i characters is delivered again if its client is killed',
  async (length) => {
    const cwd = makeQueueProject('', { deaf: DEAF_CLIENT })
    const body = 'm'.repeat(length)
    await using agent = await McpClient.start(cwd)
    await agent.call('push', task('unused', 'true'))
    await agent.call('send', { to: 'main', message: body })
    const deaf = Bun.spawn(['/bin/sh', './deaf', FORKHESTRA], { cwd, env: environment({ cwd }) })
    const isBeingRead = async () => (await agent.call('inbox')).includes('"being_read":true')
    while (!(await isBeingRead())) await Bun.sleep(10)
    // It stays leased to the client that does not read it.
    expect((await agent.ask('check')).messages).toEqual([])
    deaf.kill('SIGKILL')
    while (await isBeingRead()) await Bun.sleep(10)
    expect((await agent.ask('check')).messages.map((message) => message.body)).toEqual([body])
    expect((await agent.ask('check')).messages).toEqual([])
    expect(await problemsOf(cwd)).toEqual([])
  },
)

test('tasks end with the client that started them, and can be started again', async () => {
  const cwd = makeQueueProject('')
  const twice = 'if [ -e pid ]; then echo second; else echo $$ > pid; exec tail -f /dev/null; fi'
  {
    await using agent = await McpClient.start(cwd)
    await agent.call('push', task('again', twice, { retry: 1 }))
    await agent.call('push', task('once', 'tail -f /dev/null'))
    await agent.call('run')
    await until(() => existsSync(join(cwd, 'pid')) && readFileSync(join(cwd, 'pid')).length > 1)
  }
  expect(isAlive(Number(readFileSync(join(cwd, 'pid'), 'utf8')))).toBe(false)
  const tasks = await tasksOf(cwd)
  expect(tasks.map(({ name, state, end }) => [name, state, end?.class])).toEqual([
    ['again', 'ready', undefined],
    ['once', 'ended', 'lost'],
  ])
  await using agent = await McpClient.start(cwd)
  expect((await agent.ask('check')).messages).toMatchObject([{ from: 'once', class: 'lost' }])
  await agent.call('run')
  const { messages } = await agent.ask('receive')
  expect(messages).toMatchObject([{ from: 'again', attempt: 2, output: 'second' }])
  expect(await problemsOf(cwd)).toEqual([])
})

test('processes that a killed server has left are reported, and killed only if allowed', async () => {
  const cwd = makeQueueProject('')
  // Unlike tail, it does not notice that its output has no reader.
  const stays = 'if [ -e pid ]; then echo second; else echo $$ > pid; while :; do sleep 1; done; fi'
  const killed = await McpClient.start(cwd)
  await killed.call('push', task('stays', stays, { retry: 1 }))
  await killed.call('run')
  await until(() => existsSync(join(cwd, 'pid')) && readFileSync(join(cwd, 'pid')).length > 1)
  const { pid } = killed
  process.kill(pid, 'SIGKILL')
  await until(() => !isAlive(pid))
  await killed.client.close()
  {
    await using agent = await McpClient.start(cwd)
    await agent.call('push', task('next', 'echo next'))
    const answer = await agent.call('run')
    expect(answer).toStartWith('REFUSED Run ')
    expect(answer).toContain('\nStarted, but not running yet: next.\n')
    expect(answer).toContain('left these processes running: sh ')
    expect(answer).toMatch(/Kill them: forkhestra resume \S+ --kill-orphans$/)
  }
  await using agent = await McpClient.start(cwd, { args: ['--kill-orphans'] })
  await agent.call('run')
  expect((await agent.ask('receive', { from: ['stays', 'next'] })).messages).toMatchObject([
    { from: 'stays', attempt: 2, output: 'second' },
    { from: 'next', attempt: 1, output: 'next' },
  ])
  expect(isAlive(Number(readFileSync(join(cwd, 'pid'), 'utf8')))).toBe(false)
})

test('a conversation stays with its run, in the folder of the project', async () => {
  const claude = sh(
    'for last; do :; done',
    `printf '{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"%s in %s"}]}}\\n' "$last" "$PWD"`,
    `echo '{"type":"result","subtype":"success","is_error":false,"result":"x"}'`,
  )
  const cwd = makeQueueProject('true', { claude })
  const env = { IS_SANDBOX: '1' }
  await using agent = await McpClient.start(cwd, { args: ['--cwd', cwd], from: makeProject(), env })
  await agent.call('push', { name: 'where', prompt: 'I am' })
  await forkhestra(['./agent', '--prompt-file', 'prompt.md'], { cwd })
  expect(runsOf(cwd)).toHaveLength(2)
  expect(await agent.call('run')).toBe('{"started":["where"],"held":0}')
  expect((await agent.ask('receive')).messages).toMatchObject([{ output: `I am in ${cwd}` }])
})

test('inside a run, the server acts for the agent that calls it', async () => {
  // The run's own process runs the tasks, not the server.
  const cwd = makeQueueProject('touch begun; until [ -e go ]; do sleep 0.05; done')
  const running = forkhestra(['./agent', '--prompt-file', 'prompt.md'], { cwd })
  await fileIn(cwd, 'begun')
  const run = runsOf(cwd)[0]!
  const env = {
    FORKHESTRA_RUN_ID: run,
    FORKHESTRA_RECORD: join(cwd, 'forge/orch/runs', run),
    FORKHESTRA_AGENT_NAME: 'main',
  }
  {
    await using agent = await McpClient.start(cwd, { env })
    await agent.call('push', { name: 'child', prompt: 'echo of $FORKHESTRA_PARENT_NAME' })
    await agent.call('run')
    const { messages } = await agent.ask('receive', { from: ['child'] })
    expect(messages).toMatchObject([{ from: 'child', output: 'of main' }])
  }
  await Bun.write(join(cwd, 'go'), '')
  expect((await running).code).toBe(0)
  const { messages } = await ask<{ messages: Message[] }>(cwd, 'check')
  expect(messages).toEqual([])
})

test('a stopped queue is not continued until it is started again', async () => {
  const cwd = makeQueueProject('')
  await using agent = await McpClient.start(cwd)
  await agent.call('push', task('first', 'touch begun; until [ -e go ]; do sleep 0.05; done'))
  await agent.call('push', task('second', 'echo two'))
  await agent.call('run', { parallel: 1 })
  await fileIn(cwd, 'begun')
  expect((await forkhestra(['stop'], { cwd })).code).toBe(0)
  await Bun.write(join(cwd, 'go'), '')
  expect((await agent.ask('receive', { from: ['first'] })).status).toBe('received')
  expect((await agent.ask('receive', { from: ['second'] })).status).toBe('nothing_to_wait_for')
  await agent.call('run')
  const { messages } = await agent.ask('receive', { from: ['second'] })
  expect(messages).toMatchObject([{ from: 'second', output: 'two' }])
})

test('hints about tasks use the names of the tools', async () => {
  await using agent = await McpClient.start(makeQueueProject(''))
  await agent.call('task_create', { tasks: [{ title: 'A' }] })
  await agent.call('task_edit', { ids: ['1'], status: 'blocked' })
  expect(await agent.call('task_next')).toEndWith(
    'Read its notes: the tool task_view TASK-001; reopen it: the tool task_edit TASK-001 status todo',
  )
})

test('a line of more than 64 MiB is refused, and the server keeps running', async () => {
  const cwd = makeQueueProject('')
  const ping = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`
  const script = [
    `(echo '${ping(1)}'; head -c 70000000 /dev/zero | tr '\\0' x; echo; echo '${ping(2)}')`,
    'forkhestra mcp',
  ].join(' | ')
  const { code, stdout, stderr } = await shell(script, cwd)
  const answers = Buffer.from(stdout)
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  expect(answers).toEqual([
    { jsonrpc: '2.0', id: 1, result: {} },
    {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32_700, message: expect.stringContaining('is longer than 67108864 bytes') },
    },
    { jsonrpc: '2.0', id: 2, result: {} },
  ])
  expect([code, stderr]).toEqual([0, ''])
})
