import { expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../../support/forkhestra.ts'
import { makeQueueProject, runPrompt } from '../../support/queue.ts'
import { storeOf, wrongDeliveries, wrongEnds } from '../../support/queue-records.ts'
import { runsOf } from '../../support/record.ts'

const WEAK = '[ -e tried ] || { touch tried; echo "API Error: 529 overloaded_error"; exit 1; }'

/** A finished run: two results were read, one was not, and one task had two attempts. */
async function lived(): Promise<string> {
  const cwd = makeQueueProject(
    [
      "/push name=one 'forkhestra send main hello; echo uno'",
      `/push name=weak retry=1 '${WEAK}'`,
      "/push name=unread 'true'",
      '/run',
      'forkhestra receive --from one,weak > got; forkhestra receive --from one >> got',
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(await verify(cwd)).toEqual({ code: 0, ok: true, problems: [] })
  return cwd
}

async function verify(cwd: string) {
  const { code, stdout } = await forkhestra(['queue', 'verify', '--json'], { cwd })
  const { ok, problems } = JSON.parse(stdout) as { ok: boolean; problems: string[] }
  return { code, ok, problems }
}

const FREE = `drop trigger history_is_not_changed; drop trigger history_is_not_cut;
  drop index history_once`
const COPY = `insert into history (at, run, what, subject, attempt, detail)
  select at, run, what, subject, attempt, detail from history where`
const ID = `(select id from task where name = 'one')`

test.each([
  [
    'a delivery that is gone from the history',
    `delete from history where what = 'acked' and subject = ${ID} || '.result'`,
    /^message \S+\.result disappeared unread$/,
  ],
  [
    'an end that is recorded twice',
    `${COPY} what = 'ended' and subject = ${ID}`,
    /^task \S+ ended twice$/,
  ],
  [
    'an attempt that ended twice',
    `${COPY} what = 'over' and attempt = 1 and subject = (select id from task where name = 'weak')`,
    /^task \S+ was over while ended$/,
  ],
  [
    'a message that two have read',
    `${COPY} what = 'acked' and subject = ${ID} || '.result'`,
    /^message \S+ was acked while acked$/,
  ],
  [
    'an unread result that is missing',
    `delete from message where sender = 'unread'`,
    /^message \S+\.result disappeared unread$/,
  ],
  ['a task that is gone', `delete from task where name = 'one'`, /^task \S+ is gone$/],
  [
    'a task that is open again',
    `update task set state = 'ready' where name = 'one'`,
    /is ready at/,
  ],
])('queue verify reports %s', async (_, sql, words) => {
  const cwd = await lived()
  const db = new Database(storeOf(cwd))
  db.exec(`${FREE}; ${sql}`)
  db.close()
  const { code, ok, problems } = await verify(cwd)
  expect({ code, ok }).toEqual({ code: 1, ok: false })
  expect(problems.filter((problem) => words.test(problem))).not.toEqual([])
  const { stdout } = await forkhestra(['queue', 'verify'], { cwd })
  expect(stdout.trim().split('\n')).toEqual(problems)
})

function eventsOf(cwd: string): string {
  return join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!, 'events.ndjson')
}

const isEnd = (line: string) => line.startsWith('{"type":"task_ended"')

test('queue verify reports an end that is in the events twice, and one that is missing', async () => {
  const cwd = await lived()
  const whole = readFileSync(eventsOf(cwd), 'utf8')
  const lines = whole.split('\n')
  const end = lines.find(isEnd)!
  writeFileSync(eventsOf(cwd), lines.toSpliced(lines.indexOf(end), 1).join('\n'))
  expect((await verify(cwd)).problems).toEqual([
    expect.stringMatching(
      /^the store records the end of attempt 1 of task \S+, but the events do not$/,
    ),
  ])
  expect(wrongEnds(cwd)).toHaveLength(1)
  writeFileSync(eventsOf(cwd), whole)
  appendFileSync(eventsOf(cwd), `${end}\n${end.replace(/"attempt":1/, '"attempt":7')}\n`)
  expect((await verify(cwd)).problems).toEqual([
    expect.stringMatching(/^the events record the end of attempt 1 of task \S+ twice$/),
    expect.stringMatching(
      /^the events record the end of attempt 7 of task \S+, but the store does not$/,
    ),
  ])
  expect(wrongEnds(cwd)).toHaveLength(2)
})

test('the checks of the crash tests notice a missing delivery', async () => {
  const cwd = await lived()
  expect(wrongEnds(cwd)).toEqual([])
  expect(wrongDeliveries(cwd)).toEqual([expect.stringMatching(/^never read: \S+\.result$/)])
  await forkhestra(['check'], { cwd })
  expect(wrongDeliveries(cwd)).toEqual([])
})

test('verify reports a deleted store, and does not recreate an empty one', async () => {
  const cwd = await lived()
  const path = storeOf(cwd)
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
  const { code, ok, problems } = await verify(cwd)
  expect([code, ok]).toEqual([1, false])
  expect(problems[0]).toContain('queue.sqlite is missing')
  expect(problems.filter((problem) => problem.includes('the store does not'))).toHaveLength(4)
  writeFileSync(path, '')
  for (const words of [['queue'], ['queue', 'verify'], ['push', 'x']]) {
    const emptied = await forkhestra(words, { cwd })
    expect(emptied.code).toBe(1)
    expect(emptied.stderr).toContain('it is empty, although this run has used it')
  }
  expect(readFileSync(path, 'utf8')).toBe('')
})

test('a deleted store is also noticed if nothing but the end of the run tells of its tasks', async () => {
  const cwd = makeQueueProject('forkhestra push --name waits true\n')
  await runPrompt(cwd)
  const path = storeOf(cwd)
  for (const end of ['', '-wal', '-shm', '.count']) rmSync(path + end, { force: true })
  for (const words of [['queue'], ['queue', 'verify'], ['push', 'x'], ['run-queue']]) {
    const { code, stderr } = await forkhestra(words, { cwd })
    expect([words, code, stderr]).toEqual([words, 1, expect.stringContaining('queue.sqlite')])
  }
})
