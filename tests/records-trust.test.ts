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
import { processIdentity } from '../src/base/process-identity.ts'
import { forkhestra, isAlive } from './support/forkhestra.ts'
import { makeProject, sh, writeFiles } from './support/project.ts'
import { runsOf } from './support/record.ts'
import { git } from './support/repository.ts'

// Records that came with a project can be looked at, and no more. No path in any record leads out of it.

const RUNS = 'forge/orch/runs'
const SECRET = 'root:x:secret-of-the-user'
/** Newer than everything. */
const FUTURE = '20991231-235959-zzzzzz'

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
  // The first run fails; whoever resumes it would start this.
  evil: sh('echo working', 'touch started', 'exit 3'),
  ok: sh('echo fine'),
}

/** What a stranger has published: a failed run of his, dated in the future. */
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

describe.each(['git', 'an archive'] as const)('a record that came from %s', (from) => {
  test('is not resumed: its plan is shown', async () => {
    const { cwd } = await download(from)
    for (const args of [['resume'], ['resume', FUTURE]]) {
      const { code, stdout, stderr } = await forkhestra(args, { cwd })
      expect([code, existsSync(join(cwd, 'started'))]).toEqual([1, false])
      expect(stdout).toContain(`command: ["${cwd}/evil"]`)
      expect(stderr).toContain(`Run ${FUTURE} was not made here`)
    }
  })

  test('is not filled, and its queue is not worked off', async () => {
    const { cwd, record } = await download(from)
    const before = readdirSync(record).toSorted()
    for (const verb of ['push x', 'run-queue', 'check', 'receive', 'queue', 'inbox', 'cancel x']) {
      const args = [...verb.split(' '), '--run', FUTURE]
      const { code, stderr } = await forkhestra(args, { cwd })
      expect([verb, code]).toEqual([verb, 1])
      expect(stderr).toContain('was not made here')
    }
    const { code, stdout } = await forkhestra(['push', 'Do it.', '--json'], { cwd })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).not.toMatchObject({ run: FUTURE })
    expect(readdirSync(record).toSorted()).toEqual(before)
    if (from === 'git') expect(git(cwd, 'status', '--porcelain')).toBe('')
  })

  test('is not the one that is meant where nobody says which', async () => {
    const { cwd } = await download(from)
    expect((await forkhestra(['ok'], { cwd })).code).toBe(0)
    const [own = ''] = runsOf(cwd)
    expect((await forkhestra(['show'], { cwd })).stdout).toContain(`Run ${own}: complete`)
    expect((await forkhestra(['logs', '--raw'], { cwd })).stdout).toBe('fine\n')
    const status = await forkhestra(['status', '--json'], { cwd })
    expect(JSON.parse(status.stdout)).toMatchObject({ last: { id: own } })
    expect((await forkhestra(['resume'], { cwd })).stderr).toContain(`The run ${own} is complete`)
  })

  test('can be looked at, and says that it was not made here', async () => {
    const { cwd } = await download(from)
    const foreign = from === 'git' ? 'tracked' : 'other_id'
    const { stdout } = await forkhestra(['runs', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({ runs: [{ id: FUTURE, foreign, status: 'failed' }] })
    expect((await forkhestra(['runs'], { cwd })).stdout).toContain(`${FUTURE} was not made here`)
    expect((await forkhestra(['show', FUTURE], { cwd })).stdout).toContain('not made here: ')
    expect((await forkhestra(['logs', FUTURE], { cwd })).stdout).toContain('working\n')
    expect((await forkhestra(['cost', FUTURE], { cwd })).code).toBe(0)
    expect((await forkhestra(['status'], { cwd })).code).toBe(0)
  })

  test('names no process that gets a signal', async () => {
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

  test('does not make our own give way, however many there are', async () => {
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
  test.each(FILES)('leads nowhere with a link in place of %s', async (name) => {
    for (const target of ['../../../../../secret', '/dev/zero', '.']) {
      const { cwd, outside } = await download(from, (record) => {
        rmSync(join(record, name), { force: true })
        symlinkSync(target, join(record, name))
      })
      for (const verb of ['runs', 'status', 'cost', `show ${FUTURE}`, `logs ${FUTURE}`, 'doctor']) {
        const { stdout, stderr } = await forkhestra(verb.split(' '), { cwd })
        expect(stdout + stderr).not.toContain(SECRET)
        expect(stderr).not.toContain('    at ')
      }
      for (const verb of [`resume ${FUTURE}`, 'clean --keep 0', 'stop', 'ok'])
        await forkhestra(verb.split(' '), { cwd })
      expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe(`${SECRET}\n`)
    }
  })

  test('leads nowhere with the name of a log', async () => {
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

  test('may say anything, and only its own record cannot be shown', async () => {
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
    for (const verb of ['runs', 'status', 'cost', 'show', 'logs', 'doctor', `show ${FUTURE}`]) {
      const { stdout, stderr } = await forkhestra(verb.split(' '), { cwd })
      expect([verb, stdout + stderr]).not.toEqual([verb, expect.stringContaining('    at ')])
      expect(stdout + stderr).not.toContain('\u001b]0')
    }
    expect((await forkhestra(['resume', FUTURE], { cwd })).code).toBe(1)
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
  for (const verb of ['runs', 'show', 'status', 'queue', 'clean --keep 0']) {
    const { stdout, stderr } = await forkhestra(verb.split(' '), { cwd })
    expect(stderr + stdout).not.toContain('    at ')
  }
})

test('a FIFO in place of a file of a record is not waited for', async () => {
  const { cwd, record } = await download('an archive')
  for (const name of ['events.ndjson', 'plan.json', 'lock', 'signature', 'checkpoint.json']) {
    rmSync(join(record, name), { force: true })
    Bun.spawnSync(['mkfifo', join(record, name)])
    for (const verb of ['runs', `show ${FUTURE}`, `resume ${FUTURE}`, 'clean --keep 5', 'ok'])
      await forkhestra(verb.split(' '), { cwd })
  }
  const root = join(cwd, RUNS)
  for (const name of ['.gitignore', '.at-work/.lock', '.at-work/other']) {
    rmSync(join(root, name), { force: true })
    Bun.spawnSync(['mkfifo', join(root, name)])
    expect(await forkhestra(['ok'], { cwd })).toMatchObject({ code: 0, stderr: '' })
  }
})

describe('to trust a record', () => {
  const resume = (cwd: string, ...more: string[]) =>
    forkhestra(['resume', FUTURE, ...more], { cwd })

  test('is needed once', async () => {
    const { cwd, record } = await download('an archive')
    rmSync(join(record, 'signature'))
    const { stderr } = await resume(cwd)
    expect(stderr).toContain(`forkhestra resume ${FUTURE} --trust-record`)
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

  test('is not enough where git tracks it', async () => {
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
    // A run goes on where it began.
    symlinkSync(after, before)
    try {
      writeFiles(after, { go: '' })
      expect(await resumed(after)).toBe(true)
    } finally {
      rmSync(before)
      renameSync(after, before)
    }
  })

  test('is not ours with another state folder, or where others may write to it', async () => {
    const cwd = await failOnce()
    writeFiles(cwd, { go: '' })
    expect(await resumed(cwd, { XDG_STATE_HOME: makeProject() })).toBe(false)
    const record = join(cwd, RUNS, runsOf(cwd)[0]!)
    chmodSync(record, 0o777)
    expect(await resumed(cwd)).toBe(false)
    chmodSync(record, 0o700)
    expect(await resumed(cwd)).toBe(true)
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
    // What is ignored is overwritten without a word, and with this mask nobody sees it by the mode.
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
    expect(stderr).toContain('--trust-record is needed the next time')
  })

  test('has a key that nobody else can read, made by one of many', async () => {
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
  const ID = '20261118-080045-82tpn4'

  function install(): string {
    const cwd = makeProject({
      build: sh('echo "built again"; touch started'),
      review: sh('touch started; echo "reviewed again"'),
      'forge/x': '',
    })
    const record = join(cwd, RUNS, ID)
    cpSync(join(import.meta.dir, 'fixtures/record-0.1.0'), record, { recursive: true })
    for (const name of readdirSync(record, { recursive: true, encoding: 'utf8' })) {
      const path = join(record, name)
      if (!/\.(?:nd)?json$/.test(name)) continue
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll('@PROJECT@', cwd))
    }
    return cwd
  }

  test('is shown as before', async () => {
    const cwd = install()
    const runs = await forkhestra(['runs'], { cwd })
    expect(runs.stdout).toMatch(
      /^20261118-080045-82tpn4  failed  build:3 -> review  step 2\/2, agent_failed .*\n$/,
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
      `Run ${ID} was not made here: it has no signature, so forkhestra 0.1.0 made it`,
    )
    expect(stderr).toContain(`If you trust it: forkhestra resume ${ID} --trust-record`)
    const trusted = await forkhestra(['resume', ID, '--trust-record'], { cwd })
    expect(trusted.code).toBe(0)
    expect(trusted.stdout).toContain('reviewed again')
    expect(trusted.stdout).not.toContain('built again')
    expect((await forkhestra(['resume', ID], { cwd })).code).toBe(0)
  })

  test('with a queue is shown, and what to do is said', async () => {
    const cwd = makeProject({ 'forge/x': '' })
    await forkhestra(['push', 'Do it.', '--name', 'old'], { cwd })
    const [id = ''] = runsOf(cwd)
    rmSync(join(cwd, RUNS, id, 'signature'))
    expect((await forkhestra(['show'], { cwd })).stdout).toContain('  old  queued')
    const { stderr } = await forkhestra(['queue'], { cwd })
    expect(stderr).toContain(`Run ${id} has a queue and is passed over`)
    expect((await forkhestra(['resume', id, '--trust-record'], { cwd })).code).toBe(0)
    expect((await forkhestra(['queue'], { cwd })).stdout).toContain('old')
  })
})

describe('nothing outside is changed by a project', () => {
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
    for (const verb of ['ok', 'push x', 'runs', 'show', 'resume', 'stop', 'clean --keep 0', 'ok'])
      await forkhestra(verb.split(' '), { cwd, env })
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
