import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment, FORKHESTRA, forkhestra, Running } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import {
  ask,
  makeQueueProject,
  problemsOf,
  runPrompt,
  startPrompt,
  tasksOf,
} from '../../support/queue.ts'
import { storeOf } from '../../support/queue-records.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { fileIn } from '../../support/until.ts'

const COMMANDS: readonly (readonly string[])[] = [
  ['push', 'name=late', 'true'],
  ['run-queue'],
  ['queue'],
  ['queue', 'verify'],
  ['check'],
  ['receive'],
  ['send', 'main', 'hello'],
  ['inbox'],
  ['cancel', 'one'],
]

/** A finished run that left a task in its queue. */
async function lived(): Promise<string> {
  const cwd = makeQueueProject("/push name=one 'true'\n/push name=two 'true'\n/run 1\ntrue\n")
  expect((await runPrompt(cwd)).code).toBe(0)
  return cwd
}

/** Every command reports the same problem and leaves the store unchanged. */
async function expectRefusals(cwd: string, words: RegExp): Promise<void> {
  const before = readFileSync(storeOf(cwd))
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await forkhestra(command, { cwd })
    expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' })
    expect(stderr).toMatch(words)
    expect(stderr.match(/^\[forkhestra\]/gm)).toHaveLength(1)
    expect(stderr).not.toMatch(/^ +at /m)
    const json = await forkhestra([...command, '--json'], { cwd })
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false })
  }
  expect(readFileSync(storeOf(cwd)).equals(before)).toBe(true)
}

test('no command changes a store of a newer version', async () => {
  const cwd = await lived()
  const db = new Database(storeOf(cwd))
  db.exec('pragma user_version = 99')
  db.close()
  await expectRefusals(cwd, /queue\.sqlite was created by a newer version of forkhestra/)
  const { runs } = await ask<{ runs: object[] }>(cwd, 'runs')
  expect(runs[0]).not.toHaveProperty('counts')
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toMatch(/^Tasks: The queue store .* was created by a newer version of forkhestra/m)
})

test('no command changes a file that is not a store', async () => {
  const cwd = await lived()
  writeFileSync(storeOf(cwd), 'a page of a book\n'.repeat(1000))
  await expectRefusals(cwd, /queue\.sqlite is not a forkhestra queue store/)
})

test('a store with overwritten bytes is reported as one clear error', async () => {
  const cwd = await lived()
  const bytes = readFileSync(storeOf(cwd))
  for (const from of [100, 4096, 8192, 12_288]) {
    writeFileSync(storeOf(cwd), Buffer.from(bytes).fill(0xa5, from, from + 3000))
    for (const command of COMMANDS) {
      const { code, stderr, stdout } = await forkhestra(command, { cwd })
      expect({ from, command, isKnown: code === 0 || code === 1 || code === 2 }).toMatchObject({
        isKnown: true,
      })
      expect(stderr + stdout).not.toMatch(/^ +at |SQLITE|SqliteError/m)
    }
    const { code, stdout, stderr } = await forkhestra(['queue', 'verify'], { cwd })
    expect({ from, code, isTold: (stdout + stderr).trim() !== '' }).toEqual({
      from,
      code: 1,
      isTold: true,
    })
  }
})

test('if two processes resume a run, one continues and each task ends once', async () => {
  const cwd = makeQueueProject(
    [
      ...['a', 'b', 'c'].map(
        (name) => `/push name=${name} retry=1 "echo ${name} >> begun; [ -e go ] || sleep 60"`,
      ),
      '/run',
      '[ -e go ] || { touch up; sleep 60; }',
    ].join('\n'),
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  while (!existsSync(join(cwd, 'begun')) || readFileSync(join(cwd, 'begun')).length < 6) {
    await Bun.sleep(5)
  }
  running.signal('SIGKILL')
  await running.finished
  writeFileSync(join(cwd, 'go'), '')
  const both = ['one', 'two'].map(() => new Running(['resume', '--kill-orphans'], { cwd }))
  const ends = await Promise.all(both.map(({ finished }) => finished))
  // The second may start after the first has done everything.
  for (const { code, stderr } of ends) {
    if (code !== 0) expect(stderr).toContain('is already running (process')
  }
  expect(ends.map(({ code }) => code)).toContain(0)
  expect(
    (await tasksOf(cwd)).map(({ name, attempt, end }) => [name, attempt, end?.success]),
  ).toEqual(['a', 'b', 'c'].map((name) => [name, 2, true]))
  expect(readFileSync(join(cwd, 'begun'), 'utf8').length).toBe(12)
  expect(await problemsOf(cwd)).toEqual([])
})

test('a store that is deleted during a run is reported, and all waits end', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=old 'touch up; until [ -e deleted ]; do sleep 0.05; done; echo old'",
      '/run',
      [
        'until [ -e deleted ]; do sleep 0.05; done;',
        'forkhestra receive --json > first.json;',
        'forkhestra push name=new "echo new";',
        'forkhestra run-queue;',
        'forkhestra receive --json --from new > second.json',
      ].join(' '),
    ].join('\n'),
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  for (const end of ['', '-wal', '-shm']) rmSync(storeOf(cwd) + end, { force: true })
  const outside = await forkhestra(['receive'], { cwd })
  expect(outside.stderr).toMatch(
    /^\[forkhestra\] Warning: The queue store \S+ is gone: it was deleted/,
  )
  expect(outside.code).toBe(1)
  writeFileSync(join(cwd, 'deleted'), '')
  const { code, stdout, stderr } = await running.finished
  expect(code).toBe(1)
  expect(stderr).toContain('queue.sqlite is gone')
  expect(stdout).not.toContain('Unread in the inbox')
  expect(JSON.parse(readFileSync(join(cwd, 'first.json'), 'utf8'))).toMatchObject({
    status: 'nothing_to_wait_for',
  })
  expect(JSON.parse(readFileSync(join(cwd, 'second.json'), 'utf8'))).toMatchObject({
    status: 'received',
    messages: [{ from: 'new', success: true, output: 'new' }],
  })
})

test('a waiting process reports that the store was deleted', async () => {
  const cwd = makeQueueProject("/push name=one 'touch up; sleep 60'\n/run\ntouch main; sleep 60\n")
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  const waiting = new Running(['receive'], { cwd })
  const [run] = runsOf(cwd)
  const db = new Database(storeOf(cwd), { readonly: true })
  while (db.query('select 1 from waiting').get() === null) await Bun.sleep(5)
  db.close()
  for (const end of ['', '-wal', '-shm']) rmSync(storeOf(cwd) + end, { force: true })
  const { code, stderr } = await waiting.finished
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('queue.sqlite is gone'),
  })
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  expect(ofType(journalOf(cwd, run!), 'run_ended')).toHaveLength(1)
})

/** Runs a script in the project on a separate small file system, with or without root. */
async function onDisk(cwd: string, script: string): Promise<{ code: number; stdout: string }> {
  const disk = `mount -t tmpfs -o size=2m none "$PWD/forge" && cd "$PWD" || exit 99\n`
  const env = environment({ cwd })
  const child = Bun.spawn(['unshare', '-rm', 'sh', '-c', disk + script], {
    cwd,
    env: { ...env, PATH: `${dirname(FORKHESTRA)}:${env['PATH']}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { stdout: await new Response(child.stdout).text(), code: await child.exited }
}

test('every command reports a read-only store as one clear error', async () => {
  const cwd = makeQueueProject("/push name=one 'true'\n/push name=two 'true'\n/run 1\ntrue\n")
  const { code, stdout } = await onDisk(
    cwd,
    [
      'forkhestra ./agent --prompt-file prompt.md > /dev/null || exit 98',
      'mount -o remount,ro forge',
      ...COMMANDS.map((command) => `forkhestra ${command.join(' ')} 2>&1; echo "code $?"`),
    ].join('\n'),
  )
  expect(code).toBe(0)
  const answers = stdout.split(/^code /m).slice(0, -1)
  expect(answers).toHaveLength(COMMANDS.length)
  expect(stdout.match(/^code 1$/gm)).toHaveLength(COMMANDS.length)
  for (const answer of answers) expect(answer).toMatch(/queue\.sqlite cannot be written/)
})

test('resume reports a read-only record as one clear error', async () => {
  const cwd = makeQueueProject("/push name=one 'true'\ntrue\n")
  const { stdout } = await onDisk(
    cwd,
    [
      'forkhestra ./agent --prompt-file prompt.md > /dev/null || exit 98',
      'cat /dev/zero > forge/fill 2>/dev/null; forkhestra resume 2>&1; echo "code $?"',
      'rm forge/fill; mount -o remount,ro forge',
      'forkhestra resume --new-queue 2>&1; echo "code $?"',
    ].join('\n'),
  )
  expect(stdout.match(/^code 1$/gm)).toHaveLength(2)
  expect(stdout.match(/^\[forkhestra\] Error: Run \S+ cannot continue: /gm)).toHaveLength(2)
  expect(stdout).not.toMatch(/^ +at /m)
})

test('every command reports a full disk, and queued tasks are kept', async () => {
  const cwd = makeQueueProject("/push name=one 'true'\n/push name=two 'true'\n/run 1\ntrue\n")
  const { code, stdout } = await onDisk(
    cwd,
    [
      'forkhestra ./agent --prompt-file prompt.md > /dev/null || exit 98',
      'cat /dev/zero > forge/fill 2>/dev/null',
      ...COMMANDS.map((command) => `forkhestra ${command.join(' ')} 2>&1; echo "code $?"`),
      'rm forge/fill; forkhestra queue; forkhestra queue verify; ls forge/orch/runs/*',
    ].join('\n'),
  )
  expect(code).toBe(0)
  const answers = stdout.split(/^code /m).slice(0, -1)
  expect(answers).toHaveLength(COMMANDS.length)
  for (const answer of answers) expect(answer).toMatch(/queue\.sqlite is full\.\n +Free disk space/)
  expect(stdout).toContain('1 queued, 0 ready, 0 running, 1 ended')
  expect(stdout).toContain('match their history')
  expect(stdout).not.toContain('-room')
})

test('a result that cannot be stored on a full disk is reported, and printed on Ctrl-C', async () => {
  const cwd = makeQueueProject('', {
    worker: sh('touch begun; until [ -e full ]; do sleep 0.05; done; echo "the answer is 42"'),
  })
  const { stdout } = await onDisk(
    cwd,
    [
      'forkhestra push agent=./worker name=one x',
      'forkhestra run-queue > out 2> err & driver=$!',
      'until [ -e begun ]; do sleep 0.05; done; cat /dev/zero > forge/fill 2>/dev/null; touch full',
      'until grep -q "retrying for" err; do sleep 0.05; done',
      'kill -INT $driver; wait $driver; echo "code $?"; cat err',
    ].join('\n'),
  )
  expect(stdout).toContain('code 130')
  expect(stdout).toContain(
    'Results are kept in memory and no tasks start until this is fixed; retrying for 10 minutes.',
  )
  expect(stdout).toMatch(/cannot save the result of task one .*is full.*\n  the answer is 42\n/)
})

test('a result that does not fit on a full disk is kept until there is space', async () => {
  const cwd = makeQueueProject(
    [
      `/push name=one 'echo one >> begun; until [ -e full ]; do sleep 0.05; done; head -c 100000 /dev/zero | tr "\\0" x | fold -w 50'`,
      '/run',
      'until [ -e over ]; do sleep 0.05; done; forkhestra receive --json --from one > got.json',
    ].join('\n'),
  )
  const { code, stdout } = await onDisk(
    cwd,
    [
      '(until [ -e begun ]; do sleep 0.05; done; cat /dev/zero > forge/fill 2>/dev/null; touch full;',
      // Afterwards, a heartbeat fails too: one is sent every ten seconds.
      ' until grep -q "queue.sqlite is full" out; do sleep 0.05; done; sleep 11;',
      ' forkhestra push name=no true 2>&1; echo "push $?"; rm forge/fill; touch over) &',
      'forkhestra ./agent --prompt-file prompt.md > out 2>&1; echo "code $?"; wait',
      'forkhestra queue verify',
    ].join('\n'),
  )
  const said = readFileSync(join(cwd, 'out'), 'utf8')
  expect(code).toBe(0)
  expect(stdout).toContain('queue.sqlite is full')
  expect(stdout).toContain('push 1')
  expect(`${stdout}${said}`).toContain('code 0')
  const got = JSON.parse(readFileSync(join(cwd, 'got.json'), 'utf8')) as {
    messages: { success: boolean; attempt: number; output: string }[]
  }
  expect(got.messages).toMatchObject([{ success: true, attempt: 1 }])
  expect(got.messages[0]!.output.length).toBeGreaterThan(60_000)
  expect(readFileSync(join(cwd, 'begun'), 'utf8')).toBe('one\n')
  expect(stdout).toContain('match their history')
  const warnings = said.split('\n').filter((line) => line.includes('Warning: '))
  expect(
    warnings.filter((line) => line.includes('queue.sqlite is full. Free disk space')),
  ).toHaveLength(1)
  expect(warnings.filter((line) => line.includes('works again'))).toHaveLength(1)
}, 120_000)

test.each([
  ['deleted', (path: string) => rmSync(path), /is missing, with everything/],
  [
    'overwritten',
    (path: string) => writeFileSync(path, 'x'.repeat(9000)),
    /is not a forkhestra queue store/,
  ],
  [
    'made by a newer version',
    (path: string) => {
      const db = new Database(path)
      db.exec('pragma user_version = 99')
      db.close()
    },
    /was created by a newer version of forkhestra/,
  ],
])('resuming a run whose store was %s reports it, and nothing hangs', async (_, spoil, words) => {
  const cwd = makeQueueProject(
    "/push name=one 'touch up; [ -e go ] || sleep 60'\n/run\n[ -e go ] || sleep 60; forkhestra receive 2>> said\n",
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  running.signal('SIGKILL')
  await running.finished
  for (const end of ['-wal', '-shm']) rmSync(storeOf(cwd) + end, { force: true })
  spoil(storeOf(cwd))
  writeFileSync(join(cwd, 'go'), '')
  const { code, stderr } = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(code).toBe(1)
  expect(stderr).toMatch(words)
  expect(stderr).not.toMatch(/^ +at /m)
  const again = await forkhestra(['resume', '--kill-orphans', '--new-queue'], { cwd })
  expect(again.stderr).toContain('The run continues with an empty queue.')
})

const FILL = 'cat /dev/zero > forge/fill 2>/dev/null'

test('tasks that were started before the disk became full run as soon as there is space', async () => {
  const cwd = makeQueueProject(
    `forkhestra push name=one 'echo uno'; forkhestra run-queue; ${FILL}; true`,
  )
  const { stdout } = await onDisk(
    cwd,
    [
      'forkhestra ./agent --prompt-file prompt.md > out 2>&1 & run=$!',
      'until grep -q "retrying for" out; do sleep 0.05; done; rm forge/fill',
      'wait $run; echo "code $?"; forkhestra queue; cat out',
    ].join('\n'),
  )
  expect(stdout).toContain('code 0\none  done')
  expect(stdout).toContain('Task one: done')
})

test('tasks start as soon as the disk has space again, while main is still running', async () => {
  const start = "forkhestra push name=one 'touch ran'; forkhestra run-queue"
  const cwd = makeQueueProject(`${start}; ${FILL}; until [ -e ran ]; do sleep 0.05; done`)
  const { stdout } = await onDisk(
    cwd,
    [
      'forkhestra ./agent --prompt-file prompt.md > out 2>&1 & run=$!',
      'until [ -e ran ] || grep -q "retrying for" out; do sleep 0.05; done; rm -f forge/fill',
      'wait $run; echo "code $?"; cat out',
    ].join('\n'),
  )
  expect(stdout).toContain('code 0')
})
