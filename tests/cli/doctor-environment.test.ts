import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { CLAUDE, found, makeMachine, withVariables, type Machine } from '../support/doctor.ts'
import { forkhestra, FORKHESTRA, isAlive, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { Pty } from '../support/pty.ts'

// Each test has one problem of the environment, on a machine that is otherwise fine.

test.each([
  ['1.0.60', '1', 'warning'],
  ['2.1.3', '1', 'warning'],
  ['2.1.4', '1', 'ok'],
  ['10.0.0', 'true', 'ok'],
  ['2.1.325', '0', 'warning'],
])('claude %s with its background tasks disabled by %s: %s', async (version, value, state) => {
  const machine = makeMachine({ claude: sh(`echo "${version} (Claude Code)"`) })
  const more = { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: value }
  const check = await found('claude', withVariables(machine, more))
  expect(check?.state).toBe(state)
  expect(check?.text).toContain(version)
})

test('a key that overrides a login is a warning, and an expired login is a problem', async () => {
  const login = JSON.stringify({ claudeAiOauth: { accessToken: 'a', expiresAt: 1 } })
  const machine = makeMachine({ ...CLAUDE, '.claude/.credentials.json': login })
  expect(await found('login', machine)).toMatchObject({
    state: 'warning',
    next: 'To use the subscription instead: unset ANTHROPIC_API_KEY',
  })
  expect(await found('login', withVariables(machine, { ANTHROPIC_API_KEY: '' }))).toMatchObject({
    state: 'problem',
    text: 'the login has expired',
  })
})

test('nesting is reported only inside another coding CLI', async () => {
  const machine = makeMachine()
  expect(await found('nesting', withVariables(machine, { BUN_OPTIONS: '' }))).toBeUndefined()
  const nested = withVariables(machine, { CLAUDECODE: '1', CLAUDE_CODE_ENTRYPOINT: 'cli' })
  const check = await found('nesting', nested)
  expect(check).toMatchObject({ state: 'warning' })
  expect(check?.text).toContain('CLAUDECODE, CLAUDE_CODE_ENTRYPOINT')
})

const READ_ONLY = [
  'unshare',
  '-rm',
  'sh',
  '-c',
  'mount --bind "$PWD" "$PWD" && mount -o remount,bind,ro "$PWD" && cd "$PWD" && exec "$0" "$@"',
]
/** Makes permissions apply to root as well. */
const UNPRIVILEGED =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []

test('a project on a read-only disk is a problem', async () => {
  const machine = makeMachine()
  const check = await found('folders', machine, READ_ONLY)
  expect(check).toMatchObject({ state: 'problem' })
  expect(check?.text).toContain(`project: ${machine.cwd} is on a read-only disk`)
  expect(check?.text).toContain(`records: ${machine.cwd}/forge/orch/runs is on a read-only disk`)
})

test.each(['.', '.git', '.git/objects', 'forge/tasks', 'forge/orch', 'forge/orch/runs'])(
  'a folder %s that this user may not write to is a problem',
  async (name) => {
    const machine = makeMachine()
    const folder = join(machine.cwd, name)
    mkdirSync(folder, { recursive: true })
    chmodSync(folder, 0o555)
    try {
      const check = await found('folders', machine, UNPRIVILEGED)
      expect(check?.state).toBe('problem')
      expect(check?.text).toContain('is not writable by this user (EACCES)')
    } finally {
      chmodSync(folder, 0o755)
    }
  },
)

test('folders outside the project are checked', async () => {
  const machine = makeMachine()
  const lost = await found('folders', withVariables(machine, { TMPDIR: '/no/such/folder' }))
  expect(lost).toMatchObject({ state: 'problem' })
  expect(lost?.text).toBe('temporary files: /no/such/folder does not exist')
  const closed = makeProject()
  chmodSync(closed, 0o555)
  const moved = withVariables(machine, { CLAUDE_CONFIG_DIR: join(closed, 'claude') })
  expect(await found('folders', moved, UNPRIVILEGED)).toMatchObject({ state: 'warning' })
  const homeless = withVariables(
    { ...machine, cwd: makeProject() },
    { HOME: '', XDG_STATE_HOME: '' },
  )
  const check = await found('folders', homeless)
  expect(check).toMatchObject({ state: 'problem' })
  expect(check?.text).toContain('no place for run records')
})

const smallDisk = (options: string) => [
  'unshare',
  '-rm',
  'sh',
  '-c',
  `mount -t tmpfs -o ${options} none "$TMPDIR" && exec "$0" "$@"`,
]

test.each([
  ['size=64m', 'problem', 'only 64 MiB free for temporary files'],
  ['size=512m', 'warning', 'only 512 MiB free for temporary files'],
  ['size=2g', 'ok', 'for temporary files'],
  ['size=64m,nr_inodes=10', 'problem', 'only 64 MiB and 9 files free for temporary files'],
])('a disk with %s for temporary files: %s', async (options, state, text) => {
  const machine = withVariables(makeMachine(), { TMPDIR: makeProject() })
  const check = await found('disk', machine, smallDisk(options))
  expect(check?.state).toBe(state)
  expect(check?.text).toContain(text)
  expect(check?.text).toContain('free for project, git, records, claude files')
})

const SLEEPER = {
  'forge/orch/chains.json': '{ "chains": {} }',
  sleeper: sh('echo "pid $$"', 'exec sleep 999'),
}

test('an active run, a dead run with orphans, and a dead run without', async () => {
  const machine = makeMachine(CLAUDE, SLEEPER)
  await using sleeper = await startSleeper(machine)
  const driven = await found('runs', machine)
  expect(driven).toMatchObject({ state: 'warning' })
  expect(driven?.text).toContain(`is active here (pid ${sleeper.running.pid})`)

  await sleeper.orphan()
  const orphaned = await found('runs', machine)
  const run = /^run (\S+) is dead and left these processes running: sleep/.exec(
    orphaned?.text ?? '',
  )?.[1]
  expect(orphaned?.text).toEndWith(`(pid ${sleeper.pid})`)
  expect(orphaned).toMatchObject({
    state: 'problem',
    next: `Resume it: forkhestra resume ${run} --kill-orphans`,
  })

  await sleeper.end()
  expect(await found('runs', machine)).toMatchObject({
    state: 'warning',
    text: `the last run ${run} was killed`,
    next: `Resume it: forkhestra resume ${run}`,
  })

  await forkhestra(['run', '/bin/true'], machine)
  expect((await found('runs', machine))?.text).toMatch(/^last run \S+: complete$/)
})

test('dead runs of other projects are not reported', async () => {
  const state = { XDG_STATE_HOME: makeProject() }
  const { env } = withVariables(makeMachine(), state)
  const one = { cwd: makeProject({ sleeper: SLEEPER.sleeper }), env }
  await using sleeper = await startSleeper(one)
  await sleeper.orphan()
  expect(await found('runs', one)).toMatchObject({ state: 'problem' })
  expect(await found('runs', { cwd: makeProject(), env })).toMatchObject({ state: 'ok' })
})

/** A run with a sleeping agent, which is killed however the test ends. */
async function startSleeper(machine: Machine) {
  const running = new Running(['run', './sleeper'], machine)
  await running.printed('pid ')
  const pid = Number(/pid (\d+)/.exec(running.stdout)?.[1])
  const orphan = async () => {
    running.signal('SIGKILL')
    await running.finished
  }
  const end = async () => {
    await orphan()
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    // The process that adopted it may need a moment to reap it.
    while (isAlive(pid)) await Bun.sleep(5)
  }
  return { running, pid, orphan, end, [Symbol.asyncDispose]: end }
}

test('a clock that was set back, and an unknown time zone, are warnings', async () => {
  const machine = makeMachine()
  const unknown = await found('clock', withVariables(machine, { TZ: 'Middle/Earth' }))
  expect(unknown).toMatchObject({ state: 'warning' })
  expect(unknown?.text).toContain("TZ is 'Middle/Earth'")
  const tomorrow = new Date(Date.now() + 86_400_000)
  utimesSync(join(machine.cwd, '.git/index'), tomorrow, tomorrow)
  const check = await found('clock', machine)
  expect(check).toMatchObject({ state: 'warning' })
  expect(check?.text).toContain('.git/index was changed')
})

test('nohup is detected', async () => {
  const check = await found('terminal', makeMachine(), ['nohup'])
  expect(check?.text).toBe('none, under nohup; output is passed through unchanged')
})

test('lines are wrapped between words on a terminal', async () => {
  const { cwd, env } = makeMachine()
  const options = { cwd, env: { ...env, SSH_CONNECTION: '1 2 3 4' }, columns: 60, rows: 60 }
  await using pty = new Pty([FORKHESTRA, 'doctor'], options)
  await pty.exited
  expect(pty.output).toMatch(/columns, over\r\n {24}ssh: a run ends/)
})

test('on a terminal over ssh, tmux and nohup are suggested', async () => {
  const { cwd, env } = makeMachine()
  const more = { SSH_CONNECTION: '1 2 3 4', LANG: 'C.UTF-8' }
  await using pty = new Pty([FORKHESTRA, 'doctor'], {
    cwd,
    env: { ...env, ...more },
    columns: 120,
    rows: 40,
  })
  await pty.shows('xterm-256color, 120 columns, over ssh: a run ends with the connection')
  await pty.shows('Start the run in tmux, or with nohup.')
  expect(await pty.exited).toBe(0)
})
