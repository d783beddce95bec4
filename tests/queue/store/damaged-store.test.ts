import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { forkhestra, Running, type Finished } from '../../support/forkhestra.ts'
import { McpClient } from '../../support/mcp.ts'
import {
  ask,
  makeQueueProject,
  problemsOf,
  RUN,
  runPrompt,
  startPrompt,
  tasksOf,
} from '../../support/queue.ts'
import { storeOf } from '../../support/queue-records.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { fileIn, until } from '../../support/until.ts'

/** A project whose run was killed: one result is unread, a task is queued, a message was sent. */
const killed = mkdtempSync(join(tmpdir(), 'forkhestra-killed-'))

/** Its original folder, because a run is resumed there. */
let home: string

beforeAll(async () => {
  home = makeQueueProject(
    [
      "/push name=one 'echo uno'",
      '/run',
      "[ -e go ] && exit; forkhestra push name=late 'echo late > late'; forkhestra send main hi;",
      'touch up; until [ -e go ]; do sleep 0.02; done',
    ].join('\n'),
  )
  const running = startPrompt(home)
  await fileIn(home, 'up')
  // An end is in the store before it is in the events.
  await until(() => ofType(journalOf(home, runsOf(home)[0]!), 'task_ended').length === 1)
  running.signal('SIGKILL')
  await running.finished
  writeFileSync(join(home, 'go'), '')
  cpSync(home, killed, { recursive: true })
  expect(statSync(`${storeOf(killed)}-wal`).size).toBeGreaterThan(0)
})

afterAll(() => rmSync(killed, { recursive: true }))

afterEach(() => rmSync(home, { recursive: true, force: true }))

/** A project with a damaged store. */
function damaged(damage: (path: string) => void): string {
  cpSync(killed, home, { recursive: true })
  damage(storeOf(home))
  return home
}

function sql(text: string): (path: string) => void {
  return (path) => {
    const db = new Database(path)
    db.exec(text)
    db.close()
  }
}

const checkpoint = sql('pragma wal_checkpoint(truncate)')

function withoutLog(path: string): void {
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
}

function flip(path: string, place: number): void {
  const bytes = readFileSync(path)
  bytes[place]! ^= 0x40
  writeFileSync(path, bytes)
}

const MIDDLE = (path: string) => Math.floor(statSync(path).size / 2)

const DAMAGES: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ['-wal was deleted', (path) => rmSync(`${path}-wal`), /is empty, although/],
  [
    '-wal was deleted after a checkpoint',
    (path) => {
      checkpoint(path)
      // From here on, commits are only in the log.
      const script = `const db = new (require('bun:sqlite').Database)(process.argv[1])
        db.exec("insert into history (at, run, what, subject, attempt, detail) values (0, 'r', 'told', 'x', 0, '')")
        process.kill(process.pid, 'SIGKILL')`
      Bun.spawnSync([process.execPath, '-e', script, path])
      appendFileSync(`${path}.count`, '.')
      rmSync(`${path}-wal`)
    },
    /is missing its last 1 change:/,
  ],
  [
    '-wal was cut',
    (path) => truncateSync(`${path}-wal`, MIDDLE(`${path}-wal`)),
    /is missing its last/,
  ],
  [
    '-wal has a flipped bit',
    (path) => flip(`${path}-wal`, MIDDLE(`${path}-wal`)),
    /is missing its last/,
  ],
  [
    'file is of another program',
    (path) => {
      withoutLog(path)
      writeFileSync(path, 'a page of a book\n'.repeat(1000))
    },
    /is not a forkhestra queue store/,
  ],
  [
    'file is empty',
    (path) => {
      withoutLog(path)
      writeFileSync(path, '')
    },
    /is empty, although/,
  ],
  ['file is empty beside its -wal', (path) => writeFileSync(path, ''), /is empty, although/],
  [
    'file ends in the middle of a page',
    (path) => {
      checkpoint(path)
      truncateSync(path, 3 * 4096 + 1000)
    },
    /failed: database disk image is malformed/,
  ],
  [
    'file is only a header',
    (path) => {
      checkpoint(path)
      truncateSync(path, 100)
    },
    /failed: |is not a forkhestra queue store/,
  ],
  ['file has no version', sql('pragma user_version = 0'), /its version is 0/],
  [
    'file has neither version nor mark',
    sql('pragma user_version = 0; pragma application_id = 0'),
    /is not a forkhestra queue store/,
  ],
  ['file lacks a table', sql('drop table message'), /changed by .*: table message is missing/],
  ['file has no tables', dropAll, /changed by another program: table task is missing/],
  [
    'file lacks a column',
    sql('alter table task drop column cancelled'),
    /table task is not as forkhestra makes it/,
  ],
  [
    'file has a further column',
    sql('alter table message add column more text'),
    /table message is not as forkhestra makes it/,
  ],
  [
    'file has a generated column',
    sql("alter table task add column more text as (name || 'x')"),
    /table task is not as forkhestra makes it/,
  ],
  [
    'file has a column of another type',
    sql('drop table prompt; create table prompt (task text primary key, text blob not null)'),
    /table prompt is not as forkhestra makes it/,
  ],
  [
    'file has a view in place of a table',
    sql(`drop table waiting; create view waiting as with recursive endless (agent) as
      (select 1 union all select agent + 1 from endless) select agent, 2 as reader, 3 as run,
      4 as senders, 5 as until, 6 as deadlock from endless`),
    /table waiting is missing/,
  ],
  ['file has a further table', sql('create table more (x)'), /unknown table more/],
  ['file has a further index', sql('create index more on task (at)'), /unknown index more/],
  ...['task', 'history', 'message', 'waiting', 'answer'].map(
    (table) =>
      [
        `file has a trigger on ${table} that aborts`,
        sql(`create trigger "no[1m" before insert on ${table}
          begin select raise(abort, 'no'); end`),
        /unknown trigger no \[1m/,
      ] as const,
  ),
  [
    'file has a trigger of ours that does something else',
    sql(`drop trigger history_is_not_cut; create trigger history_is_not_cut
      before insert on history begin select raise(abort, 'no'); end`),
    /trigger history_is_not_cut is not as forkhestra makes it/,
  ],
  [
    'place is taken by a folder',
    (path) => {
      withoutLog(path)
      rmSync(path)
      mkdirSync(path)
    },
    /is not a forkhestra queue store/,
  ],
  [
    'place is taken by a FIFO',
    (path) => {
      withoutLog(path)
      rmSync(path)
      Bun.spawnSync(['mkfifo', path])
    },
    /is not a forkhestra queue store/,
  ],
  [
    'place is taken by a link',
    (path) => {
      checkpoint(path)
      withoutLog(path)
      renameSync(path, join(home, 'store'))
      symlinkSync(join(home, 'store'), path)
    },
    /is not a forkhestra queue store/,
  ],
  [
    'file was deleted',
    (path) => {
      withoutLog(path)
      rmSync(path)
    },
    /is missing, with everything that was queued or unread in it/,
  ],
  ['file was deleted, its -wal was not', (path) => rmSync(path), /is missing, with everything/],
  [
    'file was deleted with all that is beside it',
    (path) => {
      for (const name of readdirSync(dirname(path)).filter((each) => each.startsWith('queue')))
        rmSync(join(dirname(path), name))
    },
    /is missing, with everything/,
  ],
  [
    'file is of another run',
    (path) => {
      sql(
        "update task set run = 'another'; drop trigger history_is_not_changed; update history set run = 'another'",
      )(path)
    },
    /belongs to run another/,
  ],
]

function dropAll(path: string): void {
  const tables = ['task', 'prompt', 'answer', 'message', 'waiting', 'history']
  sql(['drop trigger history_is_not_cut', ...tables.map((name) => `drop table ${name}`)].join(';'))(
    path,
  )
}

const COMMANDS: readonly (readonly string[])[] = [
  ['resume', '--kill-orphans'],
  ['push', 'name=new', 'true'],
  ['run-queue', '--kill-orphans'],
  ['queue'],
  ['check'],
  ['receive', '--timeout', '1'],
  ['send', 'main', 'hello'],
  ['inbox'],
  ['cancel', 'late'],
]

/** Commands that also show other things. */
const VIEWS: readonly (readonly string[])[] = [['show'], ['runs'], ['status'], ['doctor']]

/** The bytes of all files of a store. */
function filesOf(cwd: string): Map<string, string> {
  const folder = dirname(storeOf(cwd))
  const names = readdirSync(folder).filter(
    (name) => name.startsWith('queue') && !name.endsWith('-shm'),
  )
  return new Map(
    names.map((name) => {
      const path = join(folder, name)
      return [name, statSync(path).isFile() ? Bun.hash(readFileSync(path)).toString() : 'other']
    }),
  )
}

function expectNoStack({ stdout, stderr }: Finished): void {
  expect(stdout + stderr).not.toMatch(/^ +at |SQLITE|SqliteError/m)
}

test.each(DAMAGES)(
  'every command refuses a damaged store (%s) and overwrites nothing',
  async (_, damage, words) => {
    const cwd = damaged(damage)
    const before = filesOf(cwd)
    const [run] = runsOf(cwd)
    for (const command of COMMANDS) {
      const finished = await forkhestra(command, { cwd })
      const { code, stdout, stderr } = finished
      expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' })
      expect(stderr).toMatch(words)
      expect(stderr).toContain(`forkhestra resume ${run} --new-queue`)
      expect(stderr.match(/^\[forkhestra\]/gm)).toHaveLength(1)
      expectNoStack(finished)
    }
    for (const view of VIEWS) {
      const finished = await forkhestra(view, { cwd })
      const { code, stdout, stderr } = finished
      expect({ view, code }).toEqual({ view, code: 1 })
      expect(stdout + stderr).toContain(`forkhestra resume ${run} --new-queue`)
      expectNoStack(finished)
    }
    const verified = await forkhestra(['queue', 'verify'], { cwd })
    expect({ code: verified.code, said: verified.stdout + verified.stderr }).toEqual({
      code: 1,
      said: expect.stringMatching(words),
    })
    expect(existsSync(join(cwd, 'late'))).toBe(false)
    expect(filesOf(cwd)).toEqual(before)
  },
  60_000,
)

test('a damaged store is kept aside, and the run continues with an empty queue', async () => {
  const cwd = damaged((path) => truncateSync(`${path}-wal`, MIDDLE(`${path}-wal`)))
  const [store, before] = [storeOf(cwd), readFileSync(`${storeOf(cwd)}-wal`)]
  const [run] = runsOf(cwd)
  const resumed = await forkhestra(['resume', run!, '--new-queue', '--kill-orphans'], { cwd })
  expect(resumed.stderr).toContain(`The old one is kept as ${store}.damaged-1`)
  expect(resumed.code).toBe(0)
  expect(readFileSync(`${store}.damaged-1-wal`).equals(before)).toBe(true)
  expect(await tasksOf(cwd)).toEqual([])
  expect((await forkhestra(['push', 'name=next', 'true'], { cwd })).code).toBe(0)
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  expect((await tasksOf(cwd)).map(({ name }) => name)).toEqual(['next'])
})

test('a complete run can also replace a damaged queue', async () => {
  const cwd = makeQueueProject('')
  await forkhestra(['push', 'name=one', 'true'], { cwd })
  writeFileSync(storeOf(cwd), 'x'.repeat(9000))
  const refused = await forkhestra(['resume'], { cwd })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('is not a forkhestra queue store')
  for (const kept of ['damaged-1', 'damaged-2']) {
    const renewed = await forkhestra(['resume', '--new-queue'], { cwd })
    expect(renewed.code).toBe(0)
    expect(renewed.stderr).toContain(kept)
  }
  expect((await forkhestra(['push', 'name=two', 'true'], { cwd })).code).toBe(0)
  expect(await problemsOf(cwd)).toEqual([])
})

test('a deleted -shm file is created again', async () => {
  const cwd = damaged((path) => rmSync(`${path}-shm`))
  expect(await problemsOf(cwd)).toEqual([])
  const names = (await tasksOf(cwd)).map(({ name }) => name)
  expect(names).toEqual(['one', 'late'])
})

test('a record of the previous version, without a count file, is accepted', async () => {
  const cwd = damaged((path) => rmSync(`${path}.count`))
  expect(await problemsOf(cwd)).toEqual([])
  expect((await forkhestra(['push', 'name=new', 'true'], { cwd })).code).toBe(0)
  const { tasks } = await ask<{ tasks: object[] }>(cwd, 'queue')
  expect(tasks).toHaveLength(3)
})

test('resume, run-queue and verify notice damage that other commands do not', async () => {
  const cwd = damaged((path) => {
    checkpoint(path)
    const bytes = readFileSync(path)
    for (let place = 2 * 4096 + 8; place < bytes.length; place += 4096) bytes[place]! ^= 0xff
    writeFileSync(path, bytes)
  })
  const commands = [
    ['resume', '--kill-orphans'],
    ['run-queue', '--kill-orphans'],
  ]
  for (const command of [...commands, ['queue', 'verify']]) {
    const finished = await forkhestra(command, { cwd })
    expect({ command, code: finished.code }).toEqual({ command, code: 1 })
    expectNoStack(finished)
  }
})

test.each([
  ['options', "update task set options = 'x'", ['queue']],
  ['an outcome', "update task set outcome = '[' where outcome is not null", ['queue']],
  ['a result', "update task set end = 'null' where end is not null", ['check']],
])(
  '%s that another program has written is reported as one clear error',
  async (_, change, command) => {
    const cwd = damaged(sql(change))
    const [run] = runsOf(cwd)
    const finished = await forkhestra(command, { cwd })
    expect(finished.code).toBe(1)
    expect(finished.stderr).toMatch(
      /changed by another program: task\.(options|outcome|end) is not/,
    )
    expect(finished.stderr).toContain(`forkhestra resume ${run} --new-queue`)
    expectNoStack(finished)
  },
)

test('a result whose task was deleted by another program is reported as one clear error', async () => {
  const cwd = damaged(sql("delete from task where name = 'one'"))
  const finished = await forkhestra(['check'], { cwd })
  expect(finished.code).toBe(1)
  expect(finished.stderr).toMatch(/changed by another program: the task of message \S+ is missing/)
  expectNoStack(finished)
})

test('verify reports a history entry that another program has written', async () => {
  const line = `select 0, run, 'no', 'x', 0, '' from task where depth = 0`
  const cwd = damaged(sql(`insert into history (at, run, what, subject, attempt, detail) ${line}`))
  expect(await problemsOf(cwd)).toContain('the history has an unknown line: no x')
})

const CHANGES: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ['loses its history', sql('drop table history'), /table history is missing/],
  ['loses its messages', sql('drop table message'), /table message is missing/],
  [
    'gets a trigger',
    sql(`create trigger no before insert on history begin select raise(abort, 'no'); end`),
    /unknown trigger no/,
  ],
  ['is emptied', (path) => truncateSync(path, 0), /emptied while it was in use/],
]

test.each(CHANGES)(
  'a store that %s during a run ends all waits at once and fails the run',
  async (_, change, words) => {
    const cwd = makeQueueProject(
      [
        "/push name=one 'touch up; until [ -e go ]; do sleep 0.02; done; echo uno'",
        '/run',
        'until [ -e go ]; do sleep 0.02; done',
      ].join('\n'),
    )
    const running = startPrompt(cwd)
    await fileIn(cwd, 'up')
    const waiting = new Running(['receive'], { cwd })
    await waitsIn(cwd)
    change(storeOf(cwd))
    const received = await waiting.finished
    expect(received.stderr).toMatch(words)
    expect(received.stderr.match(/^\[forkhestra\]/gm)).toHaveLength(1)
    expect(received.code).toBe(1)
    expectNoStack(received)
    writeFileSync(join(cwd, 'go'), '')
    const finished = await running.finished
    expect(finished.stderr).toMatch(words)
    expect(finished.code).toBe(1)
    expectNoStack(finished)
  },
  20_000,
)

/** Resolves when a process waits for a message. */
async function waitsIn(cwd: string): Promise<void> {
  const db = new Database(storeOf(cwd), { readonly: true })
  while (db.query('select 1 from waiting').get() === null) await Bun.sleep(5)
  db.close()
}

test('a store that is damaged during a run fails the run', async () => {
  const cwd = makeQueueProject(
    "/push name=one 'true'\n/run\nforkhestra receive > got; touch up; until [ -e go ]; do sleep 0.02; done\n",
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  const store = storeOf(cwd)
  rmSync(`${store}-wal`)
  const pushed = await forkhestra(['push', 'name=two', 'true'], { cwd })
  expect(pushed.code).toBe(1)
  writeFileSync(join(cwd, 'go'), '')
  const { code, stderr } = await running.finished
  expect(stderr).toContain('its -wal file was deleted while it was in use')
  expect(code).toBe(1)
  // The process that had the log open has checkpointed everything that was acknowledged.
  expect(await problemsOf(cwd)).toEqual([])
  expect((await tasksOf(cwd)).map(({ name }) => name)).toEqual(['one'])
})

test('a run whose -shm file is deleted stops writing to the store', async () => {
  const cwd = makeQueueProject(
    "/push name=one 'true'\n/run\nforkhestra receive > got; touch up; until [ -e go ]; do sleep 0.02; done\n",
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  rmSync(`${storeOf(cwd)}-shm`)
  writeFileSync(join(cwd, 'go'), '')
  const { code, stderr } = await running.finished
  expect(stderr).toContain('its -shm file was deleted while it was in use')
  expect(code).toBe(1)
  expect(await problemsOf(cwd)).toEqual([])
})

const JUNK = 'echo junk > "$FORKHESTRA_RECORD/queue.sqlite"'
const PUSH = "forkhestra push name=one 'echo uno'"
const ALL_FILES = 'rm "$FORKHESTRA_RECORD"/queue.sqlite*'

test.each([
  ['overwrites it at once', `${PUSH}; ${JUNK}`],
  ['overwrites it after its answer', `${PUSH}; forkhestra run-queue; forkhestra receive; ${JUNK}`],
  ['makes another one', `${PUSH}; forkhestra run-queue; forkhestra receive; ${ALL_FILES}; ${PUSH}`],
])('an agent that %s destroys the store and fails the run', async (_, script) => {
  const cwd = makeQueueProject(script)
  const finished = await runPrompt(cwd)
  expect(finished.code).toBe(1)
  expect(finished.stderr).toMatch(/Warning: .*queue\.sqlite /)
  expectNoStack(finished)
})

test('a task that overwrites the store ends run-queue with an error, and its result is printed', async () => {
  const cwd = makeQueueProject('')
  await forkhestra(['push', 'agent=./agent', 'name=one', `${JUNK}; echo uno`], { cwd })
  const finished = await forkhestra(['run-queue'], { cwd })
  expect(finished.code).toBe(1)
  expect(finished.stderr).toMatch(/cannot save the result of task one .*\n  uno\n/)
  expectNoStack(finished)
})

test('a file that replaces the store during a run is not used', async () => {
  const cwd = makeQueueProject(
    "/push name=one 'true'\n/run\ntouch up; until [ -e go ]; do sleep 0.02; done; forkhestra queue\n",
  )
  const running = new Running(RUN, { cwd })
  await fileIn(cwd, 'up')
  const store = storeOf(cwd)
  renameSync(store, `${store}.old`)
  withoutLog(store)
  writeFileSync(store, 'x'.repeat(9000))
  writeFileSync(join(cwd, 'go'), '')
  const { code, stderr } = await running.finished
  expect(stderr).toContain('it was deleted or replaced while it was in use')
  expect(code).toBe(1)
  expect(readFileSync(store, 'utf8')).toBe('x'.repeat(9000))
})

test('MCP tools report a damaged store, and the server keeps running', async () => {
  const cwd = damaged((path) => rmSync(`${path}-wal`))
  const before = filesOf(cwd)
  await using agent = await McpClient.start(cwd)
  const calls: readonly (readonly [string, object])[] = [
    ['push', { prompt: 'true', agent: './agent' }],
    ['run', {}],
    ['check', {}],
    ['receive', { timeout: 1 }],
    ['queue', {}],
  ]
  for (const [name, input] of calls) {
    expect(await agent.call(name, input)).toMatch(/^REFUSED .*is empty, although/)
  }
  expect(await agent.call('task_list')).toBe('No tasks.')
  expect(filesOf(cwd)).toEqual(before)
})

test('a symbolic link in place of the count file is not followed', async () => {
  const cwd = damaged((path) => {
    rmSync(`${path}.count`)
    symlinkSync(join(home, 'precious'), `${path}.count`)
  })
  writeFileSync(join(cwd, 'precious'), '')
  expect((await forkhestra(['push', 'name=new', 'true'], { cwd })).code).toBe(0)
  expect(readFileSync(join(cwd, 'precious'), 'utf8')).toBe('')
})
