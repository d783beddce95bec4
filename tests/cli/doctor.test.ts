import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { CLAUDE, doctor, GIT, makeMachine } from '../support/doctor.ts'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'

const CHAINS = JSON.stringify({ chains: { c: { steps: [{ agent: '/bin/true' }] } } })

test('if nothing is wrong, every check is ok', async () => {
  const machine = makeMachine(CLAUDE)
  const { code, stdout, stderr } = await forkhestra(['doctor'], machine)
  expect(stderr).toBe('')
  expect(
    stdout
      .replaceAll(machine.env['HOME']!, '<bin>')
      .replace(/\d+ GiB/, '<N> GiB')
      .replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC, time zone \S+/, '<now>')
      .replace(/^.*user .*\n/m, ''),
  ).toBe(`ok       claude         2.1.325 (Claude Code) (<bin>/claude)
ok       login          ANTHROPIC_API_KEY is set; not verified
ok       network        no proxy or base URL is set
ok       git            clean
ok       branch         work
ok       commits        git user.name and user.email are set
ok       configuration  none; the built-in agents and chains work without one
ok       specs          in forge/orch/specs
ok       tasks          none yet
ok       runs           none yet
ok       folders        writable: project, git, records, temporary files, claude files
ok       disk           <N> GiB free for project, git, records, temporary files, claude files
ok       clock          <now>
ok       terminal       none; output is passed through unchanged

All checks passed.
`)
  expect(code).toBe(0)
})

test('each finding has a next step, and the last line counts them', async () => {
  const { cwd, env } = makeMachine({}, { 'forge/orch/chains.json': '{ "chains": ' })
  await Bun.$`rm -r forge/orch/specs`.cwd(cwd)
  const { code, stdout } = await forkhestra(['doctor'], {
    cwd,
    env: { ...env, ANTHROPIC_API_KEY: '' },
  })
  expect(stdout)
    .toStartWith(`problem  claude         not found on PATH; agents with a system prompt need it
                        Install it: npm install -g @anthropic-ai/claude-code
problem  login          claude is not logged in: no API key and no saved login found
                        Run claude and type /login, or set ANTHROPIC_API_KEY.
`)
  expect(stdout)
    .toContain(`warning  git            1 change is uncommitted and may end up in an agent's commit
                        Commit first.
`)
  expect(stdout).toContain('problem  configuration  forge/orch/chains.json:1:13')
  expect(stdout)
    .toContain(`warning  specs          none, so planner and the chains build-all and plan cannot start
                        Run: forkhestra init
`)
  expect(stdout).toEndWith('\n3 problems, 2 warnings.\n')
  expect(code).toBe(1)
})

test('secrets are never printed', async () => {
  const machine = makeMachine(CLAUDE)
  const { cwd } = machine
  const env = {
    ...machine.env,
    ANTHROPIC_BASE_URL: 'https://me:sk-ant-secret@gateway.example/sk-ant-secret?sk-ant-secret',
    HTTPS_PROXY: 'http://me:sk-ant-secret@proxy.example:3128',
  }
  for (const args of [['doctor'], ['doctor', '--json']]) {
    const { stdout, stderr } = await forkhestra(args, { cwd, env })
    expect(stdout + stderr).not.toContain('sk-ant-secret')
  }
})

test('if chains call only programs, a missing claude is a warning', async () => {
  const machine = makeMachine({}, { 'forge/orch/chains.json': CHAINS })
  const { claude, login } = Object.fromEntries(
    await doctor({ ...machine, env: { ...machine.env, ANTHROPIC_API_KEY: '' } }),
  )
  expect(claude).toMatchObject({ state: 'warning' })
  expect(login).toMatchObject({ state: 'warning' })
})

test.each([
  ['fails', sh('echo broken >&2', 'exit 3'), 'does not report its version (exit 3)'],
  ['says nothing', sh('exit 0'), 'does not report its version (exit 0)'],
  ['is killed', sh('kill -9 $$'), 'does not report its version (exit by a signal)'],
  [
    'hangs, deaf, with children',
    sh('trap "" TERM', 'sleep 999 &', 'sleep 999'),
    'no answer within 5 s',
  ],
  ['has no interpreter', '#!/no/such/sh\n', "names the interpreter '/no/such/sh'"],
])('a claude that %s is a problem', async (_, claude, text) => {
  const check = (await doctor(makeMachine({ claude }))).get('claude')
  expect(check?.state).toBe('problem')
  expect(check?.text).toContain(text)
})

test('an interrupted doctor leaves no processes', async () => {
  const machine = makeMachine({ claude: sh('echo up >"$HOME/up"', 'sleep 999') })
  const up = join(machine.env['HOME']!, 'up')
  Bun.spawnSync(['mkfifo', up])
  const running = new Running(['doctor'], machine)
  expect(await Bun.file(up).text()).toBe('up\n')
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
})

test('the version that claude prints is shown as one clean line', async () => {
  const claude = sh(String.raw`printf '\033[31m2.0\007\nmore\n'`)
  const check = (await doctor(makeMachine({ claude }))).get('claude')
  expect(check?.text).toMatch(/^[ -~]+$/)
  expect(check?.text).not.toContain('more')
})

test('other coding CLIs are listed only if they are installed', async () => {
  const checks = await doctor(makeMachine({ ...CLAUDE, codex: sh('echo codex-cli 0.9') }))
  expect(checks.get('codex')?.text).toStartWith('codex-cli 0.9 (')
  expect([checks.has('gemini'), checks.has('opencode')]).toEqual([false, false])
})

test('a broken coding CLI other than claude is a warning', async () => {
  const checks = await doctor(makeMachine({ ...CLAUDE, codex: sh('exit 1') }))
  expect(checks.get('codex')).toMatchObject({ state: 'warning' })
})

test('a missing git or claude is a problem', async () => {
  const { cwd, env } = makeMachine({})
  const checks = await doctor({ cwd, env: { ...env, PATH: env['HOME']! } })
  expect(checks.get('git')).toMatchObject({ state: 'problem', text: 'not found on PATH' })
  expect(checks.get('claude')).toMatchObject({ state: 'problem' })
  expect(checks.get('folders')).toMatchObject({ state: 'ok' })
})

test('nothing of the working directory is executed', async () => {
  const touch = (name: string) => sh(`touch "$(dirname "$0")/${name}.ran"`, 'echo 1.0')
  const { cwd, env } = makeMachine(
    {},
    {
      '.gitattributes': '* filter=evil\n',
      'changed.txt': 'before\n',
      claude: touch('claude'),
      codex: touch('codex'),
      evil: touch('evil'),
      'forge/orch/chains.json': '{ "chains": { "c": { "steps": [{ "agent": "./evil" }] } } }',
    },
  )
  for (const name of ['filter.evil.clean', 'filter.evil.process', 'core.fsmonitor'])
    Bun.spawnSync([GIT, 'config', name, join(cwd, 'evil')], { cwd, env })
  Bun.spawnSync([GIT, 'config', 'filter.evil.required', 'true'], { cwd, env })
  const hook = touch('hook')
  writeFiles(cwd, { 'changed.txt': 'after.\n', '.git/hooks/post-index-change': hook })
  const PATH = [cwd, env['PATH']].join(delimiter)
  const checks = await doctor({ cwd, env: { ...env, PATH } })
  expect(checks.get('claude')).toMatchObject({ state: 'warning' })
  expect(checks.get('claude')?.text).toContain('was not run to get its version')
  expect(checks.has('codex')).toBe(false)
  expect(checks.get('git')).toMatchObject({ state: 'warning' })
  const ran = ['claude.ran', 'codex.ran', 'evil.ran', '.git/hooks/hook.ran']
  expect(ran.filter((name) => existsSync(join(cwd, name)))).toEqual([])
})

test('a missing repository is a warning, and a missing git identity a problem', async () => {
  const { env } = makeMachine(CLAUDE)
  const plain = await doctor({ cwd: makeProject(), env })
  expect(plain.get('git')).toMatchObject({ state: 'warning', next: 'Run: git init' })
  expect(plain.has('commits')).toBe(false)
  const { cwd } = makeMachine(CLAUDE)
  const anonymous = { ...env, GIT_AUTHOR_NAME: '', GIT_COMMITTER_EMAIL: '' }
  writeFiles(cwd, {
    '.git/config': '[core]\nrepositoryformatversion = 0\n[user]\nuseConfigOnly = true\n',
  })
  const check = (await doctor({ cwd, env: anonymous })).get('commits')
  expect(check).toMatchObject({ state: 'problem' })
})

test('unchanged templates and broken task files are reported', async () => {
  const { cwd, env } = makeMachine(CLAUDE)
  await Bun.$`rm -r forge`.cwd(cwd)
  await forkhestra(['init'], { cwd })
  writeFiles(cwd, { 'forge/tasks/TASK-001 - A.md': 'no frontmatter\n' })
  const checks = await doctor({ cwd, env })
  expect(checks.get('specs')).toMatchObject({ state: 'warning' })
  expect(checks.get('tasks')).toMatchObject({
    state: 'problem',
    next: 'Run: forge-tasks doctor --fix',
  })
  expect(checks.get('configuration')?.state).toBe('ok')
})

test('--config and --cwd select what is checked', async () => {
  const { cwd, env } = makeMachine(CLAUDE, { 'other.json': CHAINS })
  const args = ['doctor', '--json', '--cwd', cwd, '--config', 'other.json']
  const { stdout } = await forkhestra(args, { cwd: makeProject(), env })
  expect(stdout).toContain('other.json is valid: 1 chain, no agents')
  const missing = await forkhestra(['doctor', '--json', '--cwd', 'gone'], { cwd, env })
  expect(JSON.parse(missing.stdout)).toMatchObject({ ok: false, problems: [{}] })
  expect(missing.code).toBe(2)
})

test('native agents are enough, without chains and without claude', async () => {
  const agents = {
    nat: {
      engine: 'native',
      model: 'openai/gpt-6-sol',
      baseUrl: 'https://me:pw@models.example/v1',
    },
  }
  const configuration = JSON.stringify({ agents, chains: {} })
  const { cwd, env } = makeMachine({}, { 'forge/orch/chains.json': configuration })
  const own = { ...env, ANTHROPIC_API_KEY: '', OPENAI_API_KEY: 'sk-x', IS_SANDBOX: '' }
  const { code, stdout } = await forkhestra(['doctor'], { cwd, env: own })
  expect(`${code} ${stdout}`).toStartWith('0 ')
  expect(stdout).toContain('baseUrl of nat is https://models.example')
  expect(stdout).not.toContain('me:pw')
})

test('the keys of native agents are checked, and native agents do not need claude', async () => {
  const agents = {
    nat: { engine: 'native', model: 'openai/gpt-6-sol' },
    local: { engine: 'native', model: 'compatible/llama', baseUrl: 'http://127.0.0.1:1/v1' },
  }
  const chains = { c: { steps: [{ agent: 'nat' }, { agent: 'local' }] } }
  const configuration = JSON.stringify({ agents, chains })
  const { cwd, env } = makeMachine({}, { 'forge/orch/chains.json': configuration })
  const without = await forkhestra(['doctor'], { cwd, env: { ...env, ANTHROPIC_API_KEY: '' } })
  expect(without.code).toBe(1)
  expect(without.stdout).toContain(`problem  keys           nat: OPENAI_API_KEY is not set
                        Set it: export OPENAI_API_KEY=…
`)
  expect(without.stdout).toContain(
    'warning  claude         not found on PATH; agents with a system prompt need',
  )
  const secret = 'sk-very-secret-0123456789'
  const { code, stdout } = await forkhestra(['doctor'], {
    cwd,
    env: { ...env, OPENAI_API_KEY: secret },
  })
  expect(code).toBe(0)
  expect(stdout).toContain('ok       keys           set for nat, local; not verified')
  expect(stdout).not.toContain(secret)
})
