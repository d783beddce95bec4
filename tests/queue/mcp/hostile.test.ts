import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment, FORKHESTRA, forkhestra } from '../../support/forkhestra.ts'
import { makeQueueProject, problemsOf, tasksOf } from '../../support/queue.ts'
import { readStore, storeOf } from '../../support/queue-records.ts'
import { until } from '../../support/until.ts'

const SERVERS = [
  ['forkhestra', FORKHESTRA, 'task_create'],
  ['forge-tasks', join(dirname(FORKHESTRA), 'forge-tasks'), 'create'],
] as const

interface Reply {
  readonly id: number | string | null
  readonly result?: { readonly content?: readonly { readonly text: string }[] }
  readonly error?: { readonly code: number; readonly message: string }
}

interface Talk {
  readonly code: number
  readonly stderr: string
  readonly replies: readonly Reply[]
}

const OPENING = [
  {
    id: 'init',
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'hostile', version: '1' },
    },
  },
  { method: 'notifications/initialized' },
]

function line(message: object): string {
  return JSON.stringify({ jsonrpc: '2.0', ...message })
}

function call(id: number | string, name: string, input: object): string {
  return line({ id, method: 'tools/call', params: { name, arguments: input } })
}

/** All output of a server for these lines; stdin ends right after them. */
async function talk(program: string, cwd: string, lines: readonly string[]): Promise<Talk> {
  const child = Bun.spawn([program, 'mcp'], {
    cwd,
    env: environment({ cwd }),
    stdin: Buffer.from([...OPENING.map(line), ...lines].join('\n')),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  const replies = stdout.split('\n').flatMap((text) => (text === '' ? [] : [JSON.parse(text)]))
  return { code: await child.exited, stderr, replies: replies as Reply[] }
}

/** Whether another process has a file open. */
function isOpenElsewhere(path: string): boolean {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .some((pid) => {
      const names = orNothing(() => readdirSync(`/proc/${pid}/fd`)) ?? []
      return names.some((fd) => orNothing(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) === path)
    })
}

/** A process may end, and close its files, at any time. */
function orNothing<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

const DEEP: readonly (readonly [string, (depth: number) => string, Reply['id'] | undefined])[] = [
  ['a line', arrays, null],
  ['params', (depth) => `{"jsonrpc":"2.0","id":5,"method":"ping","params":${objects(depth)}}`, 5],
  [
    'the arguments of a call',
    (depth) =>
      `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"queue","arguments":{"a":${arrays(depth)}}}}`,
    5,
  ],
  ['an id', (depth) => `{"jsonrpc":"2.0","id":${arrays(depth)},"method":"ping"}`, null],
  ['a batch', (depth) => `[{"jsonrpc":"2.0","id":6,"method":"ping"},${objects(depth)}]`, null],
  ['a notification', (depth) => `{"jsonrpc":"2.0","method":"x","params":${objects(depth)}}`, null],
  ['arrays that are not closed', (depth) => '['.repeat(depth), null],
  ['objects that are not closed', (depth) => '{"a":'.repeat(depth), null],
  ['an answer', (depth) => `{"jsonrpc":"2.0","id":5,"result":${objects(depth)}}`, undefined],
]

test.each(SERVERS)(
  '%s mcp answers JSON that is nested too deeply, and keeps running',
  async (_, program) => {
    const cwd = makeQueueProject('')
    for (const depth of [1500, 50_000, 3_000_000]) {
      for (const [what, make, id] of DEEP) {
        const { code, stderr, replies } = await talk(program, cwd, [
          make(depth),
          line({ id: 'last', method: 'tools/list' }),
        ])
        const refused = replies.filter(({ error }) => error !== undefined)
        expect({ what, depth, code, stderr, ids: refused.map((each) => each.id) }).toEqual({
          what,
          depth,
          code: 0,
          stderr: '',
          ids: id === undefined ? [] : [id],
        })
        expect(replies.find((each) => each.id === 'last')?.result).toBeDefined()
      }
    }
  },
  120_000,
)

test.each(SERVERS)('%s mcp refuses a batch without end', async (_, program) => {
  const batch = `[${'1,'.repeat(1_000_000)}1]`
  const { code, replies } = await talk(program, makeQueueProject(''), [
    batch,
    line({ id: 'last', method: 'ping' }),
  ])
  expect(code).toBe(0)
  expect(replies.map(({ id, error }) => [id, error?.code])).toContainEqual([null, -32_600])
  expect(replies).toHaveLength(3)
})

test.each(SERVERS)(
  '%s mcp answers every request that arrived before stdin ended',
  async (_, program, create) => {
    const cwd = makeQueueProject('')
    const calls = Array.from({ length: 50 }, (_none, id) =>
      call(id, create, { tasks: [{ title: `Task number ${id}` }] }),
    )
    const { code, stderr, replies } = await talk(program, cwd, calls)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const answered = replies.filter(({ id, result }) => typeof id === 'number' && result)
    expect(answered.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b))).toEqual(
      calls.map((_none, id) => id),
    )
    expect(
      readdirSync(join(cwd, 'forge/tasks')).filter((name) => name.endsWith('.md')),
    ).toHaveLength(50)
  },
)

test('every push that arrived before stdin ended is answered and queued', async () => {
  const cwd = makeQueueProject('')
  const pushes = Array.from({ length: 20 }, (_, id) =>
    call(id, 'push', { name: `t${id}`, prompt: 'true', agent: './agent' }),
  )
  const { code, replies } = await talk(FORKHESTRA, cwd, pushes)
  expect(code).toBe(0)
  expect(replies.filter(({ id, result }) => typeof id === 'number' && result)).toHaveLength(20)
  expect(await tasksOf(cwd)).toHaveLength(20)
})

test('calls that arrived before stdin ended are answered even if the store is slow', async () => {
  const cwd = makeQueueProject('')
  await forkhestra(['push', 'name=first', 'true'], { cwd })
  const db = new Database(storeOf(cwd))
  db.exec('begin immediate')
  const calls = ['a', 'b', 'c'].map((name) => call(name, 'push', { name, prompt: 'true' }))
  const talking = talk(FORKHESTRA, cwd, calls)
  // src/mcp/pending-requests.test.ts has calls that take longer than the server waits for answers.
  const store = storeOf(cwd)
  await until(() => isOpenElsewhere(store))
  db.exec('rollback')
  db.close()
  const { code, stderr, replies } = await talking
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(replies.map(({ id }) => String(id)).toSorted()).toEqual(['a', 'b', 'c', 'init'])
  const names = (await tasksOf(cwd)).map(({ name }) => name)
  expect(names.toSorted()).toEqual(['a', 'b', 'c', 'first'])
})

test.each(SERVERS)(
  '%s mcp reports that its folder is gone, and keeps running',
  async (_, program, create) => {
    const cwd = makeQueueProject('')
    await using child = Bun.spawn([program, 'mcp'], {
      cwd,
      env: environment({ cwd }),
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const lines = linesOf(child.stdout)
    await child.stdin.write(OPENING.map((each) => `${line(each)}\n`).join(''))
    expect((await lines.next()).value).toMatchObject({ id: 'init' })
    rmSync(cwd, { recursive: true })
    await child.stdin.write(`${call(1, create, { tasks: [{ title: 'A' }] })}\n`)
    const words = `The current folder no longer exists: ${cwd}\n`
    expect((await lines.next()).value).toMatchObject({
      id: 1,
      result: { isError: true, content: [{ text: expect.stringContaining(words) }] },
    })
    await child.stdin.end()
    expect([await new Response(child.stderr).text(), await child.exited]).toEqual(['', 0])
  },
)

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Reply> {
  let rest = ''
  for await (const chunk of stream) {
    const parts = `${rest}${Buffer.from(chunk).toString()}`.split('\n')
    rest = parts.pop()!
    for (const part of parts) yield JSON.parse(part) as Reply
  }
}

test('a receive that is waiting when stdin ends is answered and loses no message', async () => {
  const cwd = makeQueueProject('')
  const child = Bun.spawn([FORKHESTRA, 'mcp'], {
    cwd,
    env: environment({ cwd }),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const replies = readReplies(child.stdout)
  const say = async (text: string) => {
    await child.stdin.write(`${text}\n`)
    await child.stdin.flush()
  }
  for (const message of OPENING) await say(line(message))
  await say(call(1, 'push', { name: 'slow', prompt: 'sleep 600', agent: './agent' }))
  await replies.of(1)
  await say(call(2, 'run', {}))
  await replies.of(2)
  await say(call(3, 'receive', { from: ['slow'] }))
  await until(() => readStore(cwd, 'select 1 from waiting').length > 0)
  expect((await forkhestra(['send', 'main', 'hello'], { cwd })).code).toBe(0)
  await child.stdin.end()
  const { result } = await replies.of(3)
  expect(JSON.parse(result?.content?.[0]?.text ?? 'null')).toMatchObject({
    status: 'stopped',
    messages: [],
  })
  expect(await child.exited).toBe(0)
  expect(await problemsOf(cwd)).toEqual([])
  expect((await forkhestra(['check'], { cwd })).stdout).toContain('hello')
})

/** Answers as they come. */
function readReplies(stdout: ReadableStream<Uint8Array<ArrayBuffer>>) {
  const waiting = new Map<Reply['id'], PromiseWithResolvers<Reply>>()
  const at = (id: Reply['id']) => {
    const known = waiting.get(id) ?? Promise.withResolvers<Reply>()
    waiting.set(id, known)
    return known
  }
  const read = async () => {
    let text = ''
    for await (const chunk of stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const reply of lines.map((each) => JSON.parse(each) as Reply))
        at(reply.id).resolve(reply)
    }
  }
  void read()
  return { of: (id: Reply['id']) => at(id).promise }
}
