import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { randomLetters } from '../../src/base/ids.ts'
import { processIdentity } from '../../src/base/linux/process-identity.ts'
import { forkhestra, isAlive } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'
import { runsOf } from '../support/record.ts'
import { git } from '../support/repository.ts'

// Records that came with a project can be looked at, and no more. No path in any record leads out of it.

const RUNS = 'forge/orch/runs'
const SECRET = 'root:x:secret-of-the-user'
/** Newer than everything. Processes of a run are found by its id, also those of another test run. */
const FUTURE = `20991231-235959-${randomLetters(6)}`

const PLACE = {
  at: '',
  run: FUTURE,
  worker: 'w',
  scope: ['s1', 'i1'],
  step: 1,
  iteration: 1,
  attempt: 1,
}

const AGENTS = {
  // The first run fails, and a resume would start this.
  evil: sh('echo working', 'touch started', 'exit 3'),
  ok: sh('echo fine'),
}

/** A failed run published by a stranger, dated in the future. */
async function publish(): Promise<string> {
  const origin = makeProject({ ...AGENTS, 'forge/README': 'x' })
  expect((await forkhestra(['evil'], { cwd: origin })).code).toBe(1)
  const [id = ''] = runsOf(origin)
  renameRun(origin, id, FUTURE)
  rmSync(join(origin, 'started'))
  rmSync(join(origin, '.state'), { recursive: true })
  return origin
}

function renameRun(project: string, from: string, to: string): void {
  const root = join(project, RUNS)
  renameSync(join(root, from), join(root, to))
  for (const name of ['events.ndjson', 'plan.json', 'checkpoint.json']) {
    const path = join(root, to, name)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(from, to))
  }
}

function commit(folder: string): void {
  if (!existsSync(join(folder, '.git'))) git(folder, 'init', '-q', '-b', 'main')
  git(folder, 'add', '-A', '-f')
  git(folder, 'commit', '-q', '-m', 'Publish')
}

/** The user's copy; what is published says where the user works, as it would if that were known. */
async function download(from: 'git' | 'an archive', change?: (record: string) => void) {
  const origin = await publish()
  const outside = makeProject({ secret: `${SECRET}\n` })
  const cwd = join(outside, 'clone')
  for (const name of ['events.ndjson', 'plan.json']) {
    const path = join(origin, RUNS, FUTURE, name)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(origin, cwd))
  }
  rmSync(join(origin, RUNS, FUTURE, 'checkpoint.json'), { force: true })
  change?.(join(origin, RUNS, FUTURE))
  if (from === 'git') {
    commit(origin)
    git(outside, 'clone', '-q', origin, cwd)
    writeFileSync(join(cwd, '.git/info/exclude'), '.state\nstarted\n')
  } else cpSync(origin, cwd, { recursive: true, verbatimSymlinks: true })
  return { cwd, outside, record: join(cwd, RUNS, FUTURE) }
}

interface Tree {
  readonly root: { of: object[] }
}

test.each([
  ['a step', (step: object) => step],
  ['a step in a group', (step: object) => ({ kind: 'sequence', id: 'g1', of: [step] })],
])('the plan of a record from elsewhere is shown without reading files: %s', async (_, place) => {
  const { cwd } = await download('an archive', (record) => {
    const path = join(record, 'plan.json')
    const content = JSON.parse(readFileSync(path, 'utf8')) as { plan: Tree }
    const { root } = content.plan
    const prompt = [{ level: 'step', text: ['/read README\nGo'] }]
    root.of = [place({ ...root.of[0], prompt })]
    writeFileSync(path, JSON.stringify(content))
  })
  const { code, stdout } = await forkhestra(['resume', FUTURE], { cwd })
  expect([code, stdout]).toEqual([1, expect.stringContaining(String.raw`"/read README\nGo"`)])
  expect(stdout).not.toContain('before: read')
})

describe.each(['git', 'an archive'] as const)('a record that came from %s', (from) => {
  test('is not resumed: its plan is shown', async () => {
    const { cwd } = await download(from)
    for (const args of [['resume'], ['resume', FUTURE]]) {
      const { code, stdout, stderr } = await forkhestra(args, { cwd })
      expect([code, existsSync(join(cwd, 'started'))]).toEqual([1, false])
      expect(stdout).toContain(`command: ["${cwd}/evil"]`)
      expect(stderr).toContain(`Run ${FUTURE} was not created here`)
    }
  })

  test('gets no tasks, and its queue is not processed', async () => {
    const { cwd, record } = await download(from)
    const before = readdirSync(record).toSorted()
    for (const command of [
      'push x',
      'run-queue',
      'check',
      'receive',
      'queue',
      'inbox',
      'cancel x',
    ]) {
      const args = [...command.split(' '), '--run', FUTURE]
      const { code, stderr } = await forkhestra(args, { cwd })
      expect([command, code]).toEqual([command, 1])
      expect(stderr).toContain('was not created here')
    }
    const { code, stdout } = await forkhestra(['push', 'Do it.', '--json'], { cwd })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).not.toMatchObject({ run: FUTURE })
    expect(readdirSync(record).toSorted()).toEqual(before)
    if (from === 'git') expect(git(cwd, 'status', '--porcelain')).toBe('')
  })

  test('is not the default run', async () => {
    const { cwd } = await download(from)
    expect((await forkhestra(['ok'], { cwd })).code).toBe(0)
    const [own = ''] = runsOf(cwd)
    expect((await forkhestra(['show'], { cwd })).stdout).toContain(`Run ${own}: complete`)
    expect((await forkhestra(['logs', '--raw'], { cwd })).stdout).toBe('fine\n')
    const status = await forkhestra(['status', '--json'], { cwd })
    expect(JSON.parse(status.stdout)).toMatchObject({ last: { id: own } })
    expect((await forkhestra(['resume'], { cwd })).stderr).toContain(`Run ${own} is complete`)
  })

  test('can be viewed, with a note that it was not created here', async () => {
    const { cwd } = await download(from)
    const foreign = from === 'git' ? 'tracked' : 'other_id'
    const { stdout } = await forkhestra(['runs', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({ runs: [{ id: FUTURE, foreign, status: 'failed' }] })
    expect((await forkhestra(['runs'], { cwd })).stdout).toContain(`${FUTURE} was not created here`)
    expect((await forkhestra(['show', FUTURE], { cwd })).stdout).toContain('not created here: ')
    expect((await forkhestra(['logs', FUTURE], { cwd })).stdout).toContain('working\n')
    expect((await forkhestra(['cost', FUTURE], { cwd })).code).toBe(0)
    expect((await forkhestra(['status'], { cwd })).code).toBe(0)
  })

  test('cannot make us signal a process', async () => {
    const { cwd, record } = await download(from)
    const env = { ...process.env, FORKHESTRA_RUN_ID: FUTURE, FORKHESTRA_RUN_PATH: FUTURE }
    const other = Bun.spawn(['sleep', '1000'], { env, stdio: ['ignore', 'ignore', 'ignore'] })
    try {
      const holder = { pid: other.pid, identity: processIdentity(other.pid), since: '' }
      const ended = readFileSync(join(record, 'events.ndjson'), 'utf8').trimEnd().split('\n')
      writeFileSync(join(record, 'events.ndjson'), `${ended.slice(0, -1).join('\n')}\n`)
      writeFileSync(join(record, 'lock'), JSON.stringify(holder))
      for (const args of [
        ['stop', '--now'],
        ['stop', '--now', FUTURE],
      ])
        expect((await forkhestra(args, { cwd })).code).toBe(1)
      writeFileSync(join(record, 'lock'), '{}')
      const doctor = await forkhestra(['doctor'], { cwd })
      expect(doctor.stdout).not.toContain(FUTURE)
      expect((await forkhestra(['ok', '--kill-orphans'], { cwd })).stderr).not.toContain(FUTURE)
      expect(isAlive(other.pid)).toBe(true)
    } finally {
      other.kill('SIGKILL')
      await other.exited
    }
  })

  test('does not push out our own records, however many there are', async () => {
    const { cwd, record } = await download(from, (published) => {
      for (let i = 0; i < 55; i++)
        cpSync(published, published.replace('235959', `23${String(i).padStart(2, '0')}59`), {
          recursive: true,
        })
    })
    for (const _ of [1, 2]) expect((await forkhestra(['ok'], { cwd })).code).toBe(0)
    const own = runsOf(cwd).filter((id) => !id.startsWith('2099'))
    expect(own).toHaveLength(2)
    if (from === 'an archive') return
    expect(git(cwd, 'status', '--porcelain')).toBe('')
    const cleaned = await forkhestra(['clean', '--keep', '0'], { cwd })
    expect(cleaned.stdout).toContain(`kept: ${FUTURE}: git tracks it`)
    expect(git(cwd, 'status', '--porcelain')).toBe('')
    expect(existsSync(record)).toBe(true)
  })

  const FILES = [
    'events.ndjson',
    'checkpoint.json',
    'plan.json',
    'lock',
    'signature',
    'queue.sqlite',
  ]
  test.each(FILES)('cannot lead outside by a link in place of %s', async (name) => {
    for (const target of ['../../../../../secret', '/dev/zero', '.']) {
      const { cwd, outside } = await download(from, (record) => {
        rmSync(join(record, name), { force: true })
        symlinkSync(target, join(record, name))
      })
      for (const command of [
        'runs',
        'status',
        'cost',
        `show ${FUTURE}`,
        `logs ${FUTURE}`,
        'doctor',
      ]) {
        const { stdout, stderr } = await forkhestra(command.split(' '), { cwd })
        expect(stdout + stderr).not.toContain(SECRET)
        expect(stderr).not.toContain('    at ')
      }
      for (const command of [`resume ${FUTURE}`, 'clean --keep 0', 'stop', 'ok'])
        await forkhestra(command.split(' '), { cwd })
      expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe(`${SECRET}\n`)
    }
  })

  test('cannot lead outside by the name of a log', async () => {
    const names = [
      '../../../../../secret',
      'steps/../../../../../../secret',
      'linked/secret',
      'l.log',
    ]
    const { cwd, outside, record } = await download(from, (published) => {
      const line = (log: string) =>
        JSON.stringify({ type: 'output', ...PLACE, stream: 'out', offset: 0, bytes: 100, log })
      symlinkSync('../../../../..', join(published, 'linked'))
      symlinkSync('../../../../../secret', join(published, 'l.log'))
      appendFileSync(join(published, 'events.ndjson'), `${names.map(line).join('\n')}\n`)
    })
    appendFileSync(
      join(record, 'events.ndjson'),
      `${readFileSync(join(record, 'events.ndjson'), 'utf8').trimEnd().split('\n').at(-1)!.replace('l.log', `${outside}/secret`)}\n`,
    )
    for (const option of ['--raw', '--json', '-v']) {
      const { stdout, stderr } = await forkhestra(['logs', FUTURE, option], { cwd })
      expect(stdout + stderr).not.toContain(SECRET)
      expect(stderr).not.toContain('    at ')
    }
  })

  test('may contain anything, and only that record cannot be shown', async () => {
    const { cwd } = await download(from, (record) => {
      const event = {
        type: 'run_started',
        at: 5,
        run: {},
        seq: 'x',
        cwd: [],
        chain: ['\u001b]52;'],
      }
      const steps = [{ step: {}, agent: ['\u001b[2J'], maxIterations: {} }]
      const line = JSON.stringify({ ...event, steps, plan: { root: { of: [null] } } })
      writeFileSync(join(record, 'events.ndjson'), `${line}\n`)
      writeFileSync(join(record, 'plan.json'), '{"version":"1","plan":{"root":{"of":[7]}}}')
      mkdirSync(join(record, '../\u001b]0;bad'))
    })
    await forkhestra(['ok'], { cwd })
    for (const command of ['runs', 'status', 'cost', 'show', 'logs', 'doctor', `show ${FUTURE}`]) {
      const { stdout, stderr } = await forkhestra(command.split(' '), { cwd })
      expect([command, stdout + stderr]).not.toEqual([command, expect.stringContaining('    at ')])
      expect(stdout + stderr).not.toContain('\u001b]0')
    }
    expect((await forkhestra(['resume', FUTURE], { cwd })).code).toBe(2)
  })
})

test('a store whose tables compute for ever is not read', async () => {
  const cwd = makeProject({ 'forge/x': '' })
  await forkhestra(['push', 'Do it.'], { cwd })
  const record = join(cwd, RUNS, runsOf(cwd)[0]!)
  rmSync(join(record, 'signature'))
  const database = new Database(join(record, 'queue.sqlite'))
  const endless = 'with recursive r(x) as (select 1 union all select x + 1 from r)'
  database.run('alter table task rename to other')
  database.run(`create view task as ${endless} select x as id, 1 as depth, '' as state from r`)
  database.close()
  for (const command of ['runs', 'show', 'status', 'queue', 'clean --keep 0']) {
    const { stdout, stderr } = await forkhestra(command.split(' '), { cwd })
    expect(stderr + stdout).not.toContain('    at ')
  }
})

test('a FIFO in place of a file of a record is not waited for', async () => {
  const { cwd, record } = await download('an archive')
  for (const name of ['events.ndjson', 'plan.json', 'lock', 'signature', 'checkpoint.json']) {
    rmSync(join(record, name), { force: true })
    Bun.spawnSync(['mkfifo', join(record, name)])
    for (const command of ['runs', `show ${FUTURE}`, `resume ${FUTURE}`, 'clean --keep 5', 'ok'])
      await forkhestra(command.split(' '), { cwd })
  }
  const root = join(cwd, RUNS)
  for (const name of ['.gitignore', '.at-work/.lock', '.at-work/other']) {
    rmSync(join(root, name), { force: true })
    Bun.spawnSync(['mkfifo', join(root, name)])
    expect(await forkhestra(['ok'], { cwd })).toMatchObject({ code: 0, stderr: '' })
  }
})

test('a FIFO beside a store is not waited for', async () => {
  const cwd = makeProject({ 'forge/x': '' })
  await forkhestra(['push', 'Do it.'], { cwd })
  const store = join(cwd, RUNS, runsOf(cwd)[0]!, 'queue.sqlite')
  for (const end of ['-journal', '-wal', '-shm']) {
    rmSync(store + end, { force: true })
    Bun.spawnSync(['mkfifo', store + end])
    for (const command of ['runs', 'status', 'queue', 'queue verify', 'push More'])
      expect((await forkhestra(command.split(' '), { cwd })).code).toBeLessThan(2)
    rmSync(store + end)
  }
})

test('a link to itself in place of a record does not keep runs from starting', async () => {
  const cwd = makeProject(AGENTS)
  mkdirSync(join(cwd, RUNS), { recursive: true })
  symlinkSync(FUTURE, join(cwd, RUNS, FUTURE))
  expect(await forkhestra(['ok'], { cwd })).toMatchObject({ code: 0, stderr: '' })
})

describe('to trust a record', () => {
  const resume = (cwd: string, ...more: string[]) =>
    forkhestra(['resume', FUTURE, ...more], { cwd })

  test('is needed once', async () => {
    const { cwd, record } = await download('an archive')
    rmSync(join(record, 'signature'))
    const { stderr } = await resume(cwd)
    expect(stderr).toContain(`forkhestra resume ${FUTURE} --trust-record`)
    expect(stderr).toContain(
      `nothing is started: this is the plan of run ${FUTURE}, which works in`,
    )
    expect(stderr).not.toContain('See its plan')
    expect((await resume(cwd, '--trust-record')).code).toBe(1)
    expect(existsSync(join(cwd, 'started'))).toBe(true)
    rmSync(join(cwd, 'started'))
    await resume(cwd)
    expect(existsSync(join(cwd, 'started'))).toBe(true)
  })

  test('needs the id of the run', async () => {
    const { cwd } = await download('an archive')
    const { code, stderr } = await forkhestra(['resume', '--trust-record'], { cwd })
    expect([code, existsSync(join(cwd, 'started'))]).toEqual([2, false])
    expect(stderr).toContain('--trust-record needs the id of the run')
  })

  test('is not enough if git tracks it', async () => {
    const { cwd } = await download('git')
    const { code, stderr } = await resume(cwd, '--trust-record')
    expect([code, existsSync(join(cwd, 'started'))]).toEqual([1, false])
    expect(stderr).toContain('git tracks it')
    git(cwd, 'rm', '-r', '-q', '--cached', RUNS)
    await resume(cwd, '--trust-record')
    expect(existsSync(join(cwd, 'started'))).toBe(true)
  })
})

describe('a record of our own', () => {
  async function failOnce() {
    const cwd = makeProject({ agent: sh('[ -e go ] || exit 3', 'echo resumed'), 'forge/x': '' })
    expect((await forkhestra(['agent'], { cwd })).code).toBe(1)
    return cwd
  }
  const resumed = async (cwd: string, env = {}) =>
    (await forkhestra(['resume'], { cwd, env })).stdout.includes('resumed\n')

  test('is still ours after its project was moved', async () => {
    const before = await failOnce()
    const after = `${before}-moved`
    renameSync(before, after)
    // A run continues in the folder where it started.
    symlinkSync(after, before)
    try {
      writeFiles(after, { go: '' })
      expect(await resumed(after)).toBe(true)
    } finally {
      rmSync(before)
      renameSync(after, before)
    }
  })

  test('is not ours with another state folder, or if others may write to it', async () => {
    const cwd = await failOnce()
    writeFiles(cwd, { go: '' })
    expect(await resumed(cwd, { XDG_STATE_HOME: makeProject() })).toBe(false)
    const record = join(cwd, RUNS, runsOf(cwd)[0]!)
    chmodSync(record, 0o777)
    expect(await resumed(cwd)).toBe(false)
    chmodSync(record, 0o700)
    expect(await resumed(cwd)).toBe(true)
  })

  /** Makes the record name another program where its plan has `agent`. */
  function swapAgent(record: string, names: readonly string[]): void {
    for (const name of names) {
      const path = join(record, name)
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll('/agent"', '/evil"'))
    }
  }
  const refused = async (cwd: string, id: string, why: string) => {
    const { code, stdout, stderr } = await forkhestra(['resume', id], { cwd })
    expect([code, existsSync(join(cwd, 'started'))]).toEqual([1, false])
    expect(stderr).toContain(why)
    return stdout
  }

  test.each([
    ['plan.json', ['plan.json'], []],
    ['events.ndjson', ['events.ndjson'], ['plan.json', 'checkpoint.json']],
    ['both', ['plan.json', 'events.ndjson'], []],
  ])('is not resumed once its plan was changed in %s', async (_, changed, removed) => {
    const cwd = await failOnce()
    writeFiles(cwd, { evil: AGENTS.evil, go: '' })
    const [id = ''] = runsOf(cwd)
    const record = join(cwd, RUNS, id)
    swapAgent(record, changed)
    for (const name of removed) rmSync(join(record, name))
    const shown = await refused(cwd, id, `The plan of run ${id} was changed`)
    expect(shown).toContain(`command: ["${cwd}/evil"]`)
    const { stdout } = await forkhestra(['push', 'x', '--run', id], { cwd })
    expect(stdout).toBe('')
    await forkhestra(['resume', id, '--trust-record'], { cwd })
    expect(existsSync(join(cwd, 'started'))).toBe(true)
  })

  test('is not resumed with a plan that an agent put into the events of its run', async () => {
    const cwd = makeProject({
      evil: AGENTS.evil,
      agent: sh(
        'cd "$FORKHESTRA_RECORD"',
        `head -n1 events.ndjson | sed 's|/agent"|/evil"|g; s|run_started|run_resumed|' >>events.ndjson`,
        'exit 3',
      ),
      'forge/x': '',
    })
    const { stderr } = await forkhestra(['agent'], { cwd })
    expect(stderr).toContain('another program changed the events.ndjson')
    const [id = ''] = runsOf(cwd)
    rmSync(join(cwd, RUNS, id, 'plan.json'))
    await refused(cwd, id, `The plan of run ${id} was changed`)
  })

  test('is not ours in another project', async () => {
    const from = await failOnce()
    const [id = ''] = runsOf(from)
    const cwd = makeProject({ 'forge/orch/x': '' })
    cpSync(join(from, RUNS), join(cwd, RUNS), { recursive: true })
    writeFiles(from, { go: '' })
    const env = { XDG_STATE_HOME: join(from, '.state') }
    const { code, stdout, stderr } = await forkhestra(['resume', id], { cwd, env })
    expect([code, stdout]).toEqual([1, expect.not.stringContaining('resumed\n')])
    expect(stderr).toContain(`Run ${id} was not created here`)
    const runs = await forkhestra(['runs', '--json'], { cwd, env })
    expect(JSON.parse(runs.stdout)).toMatchObject({ runs: [{ id, foreign: 'other_id' }] })
  })

  test('is still ours after a copy of its project took its place', async () => {
    const cwd = await failOnce()
    const copy = `${cwd}-copy`
    cpSync(cwd, copy, { recursive: true })
    rmSync(cwd, { recursive: true })
    renameSync(copy, cwd)
    writeFiles(cwd, { go: '' })
    expect(await resumed(cwd)).toBe(true)
  })

  test('can be resumed with other limits, again and again', async () => {
    const cwd = await failOnce()
    for (const limit of ['5m', '6m']) {
      const { stdout } = await forkhestra(['resume', '--timeout', limit], { cwd })
      expect(stdout).toContain('Failed at step 1')
    }
    writeFiles(cwd, { go: '' })
    expect(await resumed(cwd)).toBe(true)
  })

  test('whose signature does not cover its plan must be trusted once', async () => {
    const cwd = await failOnce()
    const [id = ''] = runsOf(cwd)
    const key = readFileSync(join(cwd, '.state/forkhestra/record-key'), 'utf8')
    const hasher = new Bun.CryptoHasher('sha256', key).update(JSON.stringify(['record', id, 0]))
    writeFileSync(join(cwd, RUNS, id, 'signature'), `${hasher.digest('hex')}\n`)
    writeFiles(cwd, { go: '' })
    await refused(cwd, id, `If you trust it: forkhestra resume ${id} --trust-record`)
    const trusted = await forkhestra(['resume', id, '--trust-record'], { cwd })
    expect(trusted.stdout).toContain('resumed\n')
    expect((await forkhestra(['resume', id], { cwd })).code).toBe(0)
  })

  test('is not ours once a pull has replaced a part of it', async () => {
    const origin = makeProject({ agent: sh('exit 3'), 'forge/x': '' })
    commit(origin)
    const cwd = join(makeProject(), 'clone')
    git(dirname(cwd), 'clone', '-q', origin, cwd)
    await forkhestra(['agent'], { cwd })
    const [id = ''] = runsOf(cwd)
    const plan = readFileSync(join(cwd, RUNS, id, 'plan.json'), 'utf8')
    writeFiles(origin, {
      evil: AGENTS.evil,
      [`${RUNS}/${id}/plan.json`]: plan.replaceAll('/agent', '/evil'),
    })
    commit(origin)
    // git overwrites ignored files silently, and with this umask the mode does not reveal it.
    Bun.spawnSync(['sh', '-c', 'umask 077; exec git pull -q'], { cwd })
    expect(readFileSync(join(cwd, RUNS, id, 'plan.json'), 'utf8')).toContain('/evil')
    const { code, stderr } = await forkhestra(['resume', id], { cwd })
    expect([code, existsSync(join(cwd, 'started'))]).toEqual([1, false])
    expect(stderr).toContain('git tracks it')
  })

  test.each([
    ['without a home', { HOME: '', XDG_STATE_HOME: '' }],
    ['with a state folder that cannot be written', { XDG_STATE_HOME: '/proc/nowhere' }],
  ])('%s is written, and must be trusted each time', async (_, env) => {
    const cwd = makeProject({ agent: sh('[ -e go ] || exit 3', 'echo resumed'), 'forge/x': '' })
    expect(await forkhestra(['agent'], { cwd, env })).toMatchObject({ code: 1 })
    const [id = ''] = runsOf(cwd)
    expect((await forkhestra(['resume', id], { cwd, env })).code).toBe(1)
    writeFiles(cwd, { go: '' })
    const { stdout, stderr } = await forkhestra(['resume', id, '--trust-record'], { cwd, env })
    expect(stdout).toContain('resumed\n')
    expect(stderr).toContain('the next resume needs --trust-record again')
  })

  test('has a key that only its owner can read, even if several processes start at once', async () => {
    const cwd = makeProject({ ok: AGENTS.ok, 'forge/x': '' })
    const runs = Array.from({ length: 4 }, () => forkhestra(['ok', '--anyway'], { cwd }))
    for (const { code } of await Promise.all(runs)) expect(code).toBe(0)
    const key = join(cwd, '.state/forkhestra/record-key')
    expect((await Bun.$`stat -c %a ${key}`.text()).trim()).toBe('600')
    const { stdout } = await forkhestra(['runs', '--json'], { cwd })
    for (const run of JSON.parse(stdout).runs) expect(run).not.toHaveProperty('foreign')
  })
})

describe('a record of 0.1.0', () => {
  const ID = `20261118-080045-${randomLetters(6)}`

  function install(): string {
    const cwd = makeProject({
      build: sh('echo "built again"; touch started'),
      review: sh('touch started; echo "reviewed again"'),
      'forge/x': '',
    })
    const record = join(cwd, RUNS, ID)
    cpSync(join(import.meta.dir, '../fixtures/record-0.1.0'), record, { recursive: true })
    for (const name of readdirSync(record, { recursive: true, encoding: 'utf8' })) {
      const path = join(record, name)
      if (!/\.(?:nd)?json$/.test(name)) continue
      writeFileSync(
        path,
        readFileSync(path, 'utf8')
          .replaceAll('@PROJECT@', cwd)
          .replaceAll('20261118-080045-82tpn4', ID),
      )
    }
    return cwd
  }

  test('is shown as before', async () => {
    const cwd = install()
    const runs = await forkhestra(['runs'], { cwd })
    expect(runs.stdout).toMatch(
      /^20261118-080045-\w{6}  failed  build:3 -> review  step 2\/2, agent_failed .*\n$/,
    )
    const { stdout } = await forkhestra(['show'], { cwd })
    expect(stdout).toContain('Step 1: build: complete (2/3 iterations, marker)')
    expect((await forkhestra(['logs', '--raw'], { cwd })).stdout).toContain(
      'working, iteration 2\n',
    )
    expect((await forkhestra(['status'], { cwd })).stdout).toContain(ID)
    expect((await forkhestra(['cost'], { cwd })).stdout).toContain(ID)
  })

  test('is resumed once the user trusts it', async () => {
    const cwd = install()
    const { code, stdout, stderr } = await forkhestra(['resume'], { cwd })
    expect([code, existsSync(join(cwd, 'started'))]).toEqual([1, false])
    expect(stdout).toContain(`command: ["${cwd}/review","Make it good."]`)
    expect(stderr).toContain(
      `Run ${ID} was not created here: its plan is not signed: it was created by an older version of forkhestra`,
    )
    expect(stderr).toContain(`If you trust it: forkhestra resume ${ID} --trust-record`)
    const trusted = await forkhestra(['resume', ID, '--trust-record'], { cwd })
    expect(trusted.code).toBe(0)
    expect(trusted.stdout).toContain('reviewed again')
    expect(trusted.stdout).not.toContain('built again')
    expect((await forkhestra(['resume', ID], { cwd })).code).toBe(0)
  })

  test('with a queue is shown, with what to do', async () => {
    const cwd = makeProject({ 'forge/x': '' })
    await forkhestra(['push', 'Do it.', '--name', 'old'], { cwd })
    const [id = ''] = runsOf(cwd)
    rmSync(join(cwd, RUNS, id, 'signature'))
    expect((await forkhestra(['show'], { cwd })).stdout).toContain('  old  queued')
    const { stderr } = await forkhestra(['queue'], { cwd })
    expect(stderr).toContain(`Run ${id} has a queue but is skipped`)
    expect((await forkhestra(['resume', id, '--trust-record'], { cwd })).code).toBe(0)
    expect((await forkhestra(['queue'], { cwd })).stdout).toContain('old')
  })
})

describe('a project cannot change anything outside', () => {
  const before = () =>
    makeProject({
      'home/docs/thesis.txt': 'precious\n',
      'home/.profile': '',
      'p/ok': AGENTS.ok,
      'p/forge/orch/.keep': '',
    })
  const LINKS = [
    ['the folder of runs', RUNS, '../../../home/docs'],
    ['the folder of those at work', `${RUNS}/.at-work`, '../../../../home/docs'],
    ['its list of ignored files', `${RUNS}/.gitignore`, '../../../../home/.profile'],
    ['a record', `${RUNS}/${FUTURE}`, '../../../../home/docs'],
    ['what is being removed', `${RUNS}/.removed-x`, '../../../../home/docs'],
  ] as const
  test.each(LINKS)('with a link in place of %s', async (_, link, target) => {
    const folder = before()
    const cwd = join(folder, 'p')
    mkdirSync(dirname(join(cwd, link)), { recursive: true })
    symlinkSync(target, join(cwd, link))
    writeFileSync(join(folder, 'home/docs/events.ndjson'), '')
    const env = { HOME: join(folder, 'elsewhere'), XDG_STATE_HOME: join(folder, 'elsewhere') }
    for (const command of [
      'ok',
      'push x',
      'runs',
      'show',
      'resume',
      'stop',
      'clean --keep 0',
      'ok',
    ])
      await forkhestra(command.split(' '), { cwd, env })
    expect(readdirSync(join(folder, 'home/docs')).toSorted()).toEqual([
      'events.ndjson',
      'thesis.txt',
    ])
    expect(readFileSync(join(folder, 'home/.profile'), 'utf8')).toBe('')
    expect((await forkhestra(['ok'], { cwd, env })).stderr).toBe('')
    expect((await forkhestra(['show'], { cwd, env })).stdout).toContain(': complete')
  })

  test('a link that the user made for the records is followed', async () => {
    const folder = before()
    const cwd = join(folder, 'p')
    git(cwd, 'init', '-q')
    symlinkSync('../../../home/docs', join(cwd, RUNS))
    expect((await forkhestra(['ok'], { cwd })).code).toBe(0)
    expect(readdirSync(join(folder, 'home/docs'))).toContain('.gitignore')
  })
})
