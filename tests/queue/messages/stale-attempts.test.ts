import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { QueueClient } from '../../../src/queue/client.ts'
import { openSqliteStore } from '../../../src/queue/sqlite-store.ts'
import { environment, FORKHESTRA, forkhestra, Running } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { ask, makeQueueProject, problemsOf, runPrompt } from '../../support/queue.ts'
import { storeOf } from '../../support/queue-records.ts'
import { runsOf } from '../../support/record.ts'
import { fileIn, until } from '../../support/until.ts'

/** More than the capacity of a pipe. */
const LONG = 'x'.repeat(200_000)

/** Records its environment, and ends at once or on request. */
const WORKER = sh(
  'env | grep -E "^FORKHESTRA_(RUN_ID|RECORD|AGENT_NAME|TASK_)" > "env-$1"',
  'mv "env-$1" "up-$1"',
  'until [ "$1" = first ] || [ -e go ]; do sleep 0.05; done',
  'forkhestra check',
)

function environmentIn(cwd: string, file: string): Record<string, string> {
  const lines = readFileSync(join(cwd, file), 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2) as [string, string]))
}

const COMMANDS = [
  ['check'],
  ['receive', '--timeout', '1'],
  ['push', 'name=late', 'x'],
  ['run-queue'],
  ['send', 'main', 'late'],
  ['queue'],
  ['inbox'],
  ['cancel', 'other'],
]

test.each(COMMANDS.map((words) => [words.join(' '), words] as const))(
  'a process of an ended task is refused even if its name was reused: %s',
  async (_, words) => {
    const cwd = makeProject({ 'forge/.keep': '', worker: WORKER })
    const push = (...more: string[]) => forkhestra(['push', 'agent=./worker', ...more], { cwd })
    await push('name=x', 'first')
    expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
    await push('name=x', 'second')
    const running = new Running(['run-queue'], { cwd })
    await fileIn(cwd, 'up-second')
    await push('name=other', 'third')
    expect((await forkhestra(['send', 'x', 'for the second'], { cwd })).code).toBe(0)
    const env = environmentIn(cwd, 'up-first')
    expect(env).toMatchObject({ FORKHESTRA_AGENT_NAME: 'x', FORKHESTRA_TASK_ATTEMPT: '1' })
    const late = await forkhestra(words, { cwd, env })
    expect([late.code, late.stdout]).toEqual([2, ''])
    expect(late.stderr).toContain("The agent 'x' has ended.")
    writeFileSync(join(cwd, 'go'), '')
    expect((await running.finished).code).toBe(0)
    const { stdout } = await forkhestra(['check'], { cwd })
    expect(stdout).toContain('[x: done]\n> [main] for the second\n')
    expect(stdout).not.toContain('late')
    expect(await problemsOf(cwd)).toEqual([])
  },
)

test.each(['nobody', 'x'])(
  'an agent name %s without a task id is refused by every command',
  async (name) => {
    const cwd = makeQueueProject("/push name=x 'true'\n/run\nforkhestra receive --from x > got\n")
    await runPrompt(cwd)
    const [run] = runsOf(cwd)
    const env = {
      FORKHESTRA_RUN_ID: run!,
      FORKHESTRA_RECORD: join(cwd, 'forge/orch/runs', run!),
      FORKHESTRA_AGENT_NAME: name,
    }
    for (const words of COMMANDS) {
      const { code, stderr } = await forkhestra(words, { cwd, env })
      expect([words, code]).toEqual([words, 2])
      expect(stderr).toContain('FORKHESTRA_TASK_ID is not set')
    }
    expect((await ask<{ messages: unknown[] }>(cwd, 'inbox')).messages).toEqual([])
  },
)

test('a run inside a sub-agent has its own main', async () => {
  const inner = sh('env | grep -c ^FORKHESTRA_TASK_[AI] > seen; forkhestra push name=own true')
  const cwd = makeProject({ 'forge/.keep': '', inner, outer: sh('forkhestra ./inner > /dev/null') })
  await forkhestra(['push', 'agent=./outer', 'name=x', 'go'], { cwd })
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  expect(readFileSync(join(cwd, 'seen'), 'utf8')).toBe('0\n')
})

test('unread messages of an ended agent are forwarded to its parent and listed in the summary', async () => {
  const cwd = makeProject({
    'forge/.keep': '',
    lead: sh(
      'forkhestra push agent=./deaf name=deaf x > /dev/null',
      'forkhestra send deaf "mind the gap"',
      'forkhestra run-queue > /dev/null',
    ),
    deaf: sh('echo what'),
  })
  const { stdout } = await forkhestra(['./lead'], { cwd })
  expect(stdout).toContain('Unread in the inbox: 2 from main to deaf, deaf;')
  expect((await forkhestra(['inbox'], { cwd })).stdout).toMatch(/^main to deaf {2}text .*\ndeaf /)
  const { stdout: json } = await forkhestra(['check', '--json'], { cwd })
  const { messages } = JSON.parse(json) as { messages: object[] }
  expect(messages[0]).toMatchObject({ kind: 'text', from: 'main', to: 'deaf' })
})

async function makeMail(cwd: string): Promise<void> {
  await forkhestra(['push', 'agent=./worker', 'name=t1', 'x'], { cwd })
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
}

test('a reader whose lease expired reports the affected messages and fails', async () => {
  const cwd = makeProject({ 'forge/.keep': '', worker: sh(`printf %s ${LONG}`) })
  await makeMail(cwd)
  const run = runsOf(cwd)[0]!
  const script = `(${FORKHESTRA} check 2> said; echo $? > code) | (until [ -e go ]; do sleep 0.05; done; cat > got)`
  const blocked = Bun.spawn(['sh', '-c', script], { cwd, env: environment({ cwd }) })
  // A store for which the lease of the first reader has expired.
  const clock = { now: () => Date.now() + 120_000 }
  const store = await openSqliteStore(storeOf(cwd), { clock })
  const now = await openSqliteStore(storeOf(cwd))
  for (let isRead = false; !isRead;) {
    await Bun.sleep(5)
    isRead = (await now.inbox(run, 'main')).some(({ isLeased }) => isLeased)
  }
  await now.close()
  const leases = await store.lease(run, 'main', {}, 'another')
  expect(await store.ack(leases)).toEqual([true])
  await store.close()
  writeFileSync(join(cwd, 'go'), '')
  await blocked.exited
  expect(readFileSync(join(cwd, 'code'), 'utf8')).toBe('1\n')
  const said = readFileSync(join(cwd, 'said'), 'utf8')
  expect(said).toContain('1 message was written after the lease had expired')
  expect(said).toContain(`t1 (${leases[0]!.message.id})`)
})

const READER = `
  import { deliver } from ${JSON.stringify(join(import.meta.dir, '../../../src/cli/queue/messages.ts'))}
  import { QueueClient } from ${JSON.stringify(join(import.meta.dir, '../../../src/queue/client.ts'))}
  import { openSqliteStore } from ${JSON.stringify(join(import.meta.dir, '../../../src/queue/sqlite-store.ts'))}
  import { writeFileSync } from 'node:fs'
  const store = await openSqliteStore('queue.db', { times: { readerLeaseMs: 1500 } })
  const client = new QueueClient(store, 'r', 'main')
  const delivery = await client.check()
  writeFileSync('up', '')
  const isOurs = await deliver(delivery, delivery.messages[0].body)
  writeFileSync('code', isOurs ? '0' : '1')
  process.exit()`

test('a reader that writes to a slow pipe keeps its lease', async () => {
  const cwd = makeProject({ 'reader.ts': READER })
  const times = { readerLeaseMs: 1500 }
  const store = await openSqliteStore(join(cwd, 'queue.db'), { times })
  await store.openRun('r')
  await store.send({ id: 'm', run: 'r', from: 'main', to: 'main', body: LONG })
  const script = `${process.execPath} reader.ts | (until [ -e go ]; do sleep 0.05; done; cat > got)`
  const blocked = Bun.spawn(['sh', '-c', script], { cwd, env: environment({ cwd }) })
  await fileIn(cwd, 'up')
  const client = new QueueClient(store, 'r', 'main')
  const since = performance.now()
  await until(() => performance.now() - since > 3 * times.readerLeaseMs)
  expect((await client.check()).messages).toEqual([])
  writeFileSync(join(cwd, 'go'), '')
  await blocked.exited
  expect(readFileSync(join(cwd, 'code'), 'utf8')).toBe('0')
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toBe(`${LONG}\n`)
  expect((await client.check()).messages).toEqual([])
  await client.close()
  await store.close()
})
