import { describe, expect, test } from 'bun:test'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORGE_TASKS } from '../support/forge-tasks.ts'
import { environment, forkhestra, FORKHESTRA, shell } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles, type Files } from '../support/project.ts'

const CHAINS = JSON.stringify({
  chains: {
    build: { prompt: 'Go', steps: [{ agent: './worker', iterations: 2, verify: 'test -f gate' }] },
  },
})

const PROJECT: Files = {
  '.git/HEAD': '',
  'forge/orch/chains.json': CHAINS,
  worker: sh('pwd > where', 'echo "$1"', 'echo ORCHESTRA_COMPLETE'),
  gate: '',
  'src/deep/x': '',
}

/** A repository with a project at its top, and a nested folder. */
function makeRepository(files: Files = {}): { readonly top: string; readonly deep: string } {
  const top = makeProject({ ...PROJECT, ...files })
  return { top, deep: join(top, 'src/deep') }
}

/** Calls from all folders share a home and a state folder. */
async function call(program: string, args: readonly string[], cwd: string, home: string) {
  const child = Bun.spawn([program, ...args], {
    cwd,
    env: environment({ cwd: home }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

const HOME = '/nonexistent'

test('a run in a subfolder uses the chain, gate and records of the project', async () => {
  const { top, deep } = makeRepository()
  const { code, stdout, stderr } = await call(FORKHESTRA, ['--chain', 'build'], deep, top)
  expect(stdout).toContain('Go\n')
  expect(stdout).toContain('Chain complete (1/1 steps)')
  expect(stderr).toStartWith(`[forkhestra] Project: ${top}\n`)
  expect(code).toBe(0)
  expect(readFileSync(join(top, 'where'), 'utf8')).toBe(`${top}\n`)
  expect(readdirSync(join(top, 'forge/orch/runs')).length).toBe(2)
  expect(existsSync(join(deep, 'forge'))).toBe(false)
})

test('--verify works in a subfolder', async () => {
  const { top, deep } = makeRepository()
  const args = ['./../../worker:1', '-p', 'Go', '--verify', 'test -f nothing']
  const { code, stdout } = await call(FORKHESTRA, args, deep, top)
  expect(code).toBe(1)
  expect(stdout).toContain('test -f nothing')
})

test('typed paths are relative to the current folder', async () => {
  const { top, deep } = makeRepository({
    'src/deep/note.md': 'From below',
    'src/deep/own': sh('pwd', 'echo "$1"'),
    'src/deep/other.json': JSON.stringify({
      chains: { other: { steps: [{ agent: './worker' }] } },
    }),
    'src/deep/check.md': 'Checked',
  })
  const run = await call(FORKHESTRA, ['./own', '--prompt-file', 'note.md'], deep, top)
  expect(run.stdout).toContain(`${top}\nFrom below\n`)
  const other = ['--config', 'other.json', '--chain', 'other', '--prompt-file=note.md']
  expect((await call(FORKHESTRA, other, deep, top)).stdout).toContain('From below\n')
  const check = await call(FORKHESTRA, ['prompt', 'check', 'check.md'], deep, top)
  expect([check.code, check.stdout]).toEqual([0, expect.stringContaining('Checked')])
  const missing = await call(FORKHESTRA, ['./own', '--prompt-file', 'no.md'], deep, top)
  expect(missing.stderr).toContain('Prompt file not found: src/deep/no.md')
})

test('the agent path of a queued task is relative to the current folder', async () => {
  const { top, deep } = makeRepository({ 'src/deep/own': sh('pwd > result') })
  await call(FORKHESTRA, ['push', '--agent', './own', 'Do it'], deep, top)
  await call(FORKHESTRA, ['push', '--agent', '../../worker', 'Do it'], deep, top)
  const { code } = await call(FORKHESTRA, ['run-queue'], deep, top)
  expect(code).toBe(0)
  expect(readFileSync(join(top, 'result'), 'utf8')).toBe(`${top}\n`)
  expect(existsSync(join(top, 'where'))).toBe(true)
})

describe('a configured program that is typed in a subfolder', () => {
  const files = {
    'forge/orch/chains.json': JSON.stringify({
      agents: { './worker': { defaultPrompt: 'Configured', verify: 'test -f nothing' } },
      chains: { build: { steps: [{ agent: './worker', promptFile: 'go.md' }] } },
    }),
    'go.md': 'From the project',
    'bin/own': sh('echo "$1"'),
  }

  test('has its prompt and gates', async () => {
    const { top, deep } = makeRepository(files)
    const { stdout, code } = await call(FORKHESTRA, ['../../worker'], deep, top)
    expect(stdout).toContain('Running: ./worker\nConfigured\n')
    expect(stdout).toContain('test -f nothing')
    expect(code).toBe(1)
  })

  test('has them in a chain that runs another, too', async () => {
    const { top, deep } = makeRepository(files)
    const { stdout } = await call(FORKHESTRA, ['@build || ../../worker'], deep, top)
    expect(stdout).toContain('Running: ./worker\nFrom the project\n')
    expect(stdout).toContain('Running: ./worker\nConfigured\n')
  })

  test('has them if the configuration writes the path in another way', async () => {
    const chains = JSON.stringify({
      agents: { 'bin/own': { defaultPrompt: 'Configured' } },
      chains: {},
    })
    const { top, deep } = makeRepository({ ...files, 'forge/orch/chains.json': chains })
    for (const [name, folder] of [
      ['./bin/own', top],
      ['../../bin/own', deep],
    ] as const) {
      const { stdout } = await call(FORKHESTRA, [name], folder, top)
      expect(stdout).toContain('Running: bin/own\nConfigured\n')
    }
  })

  test.each([
    ['worker', "Agent not found: worker (did you mean '../../worker'?)"],
    ['./worker', 'Agent not found: ./worker\n'],
    ['../../worke', "Agent not found: ../../worke (did you mean '../../worker'?)"],
  ])('%s is refused with the path that works there', async (name, message) => {
    const { deep } = makeRepository(files)
    // With the top as home, it would be on PATH.
    for (const args of [
      ['run', name],
      ['push', '--agent', name, 'Go'],
    ]) {
      const { stderr, code } = await call(FORKHESTRA, args, deep, deep)
      expect(stderr).toContain(message)
      expect(code).toBe(2)
    }
  })
})

test('without a project, the agent of a queued task is found from the current folder', async () => {
  const top = makeProject({
    '.git/HEAD': '',
    'src/own': sh('echo "$1" > result'),
    own: sh('echo wrong > result'),
  })
  await call(FORKHESTRA, ['push', '--agent', './own', 'First'], top, top)
  await call(FORKHESTRA, ['push', '--agent', './own', 'Second'], join(top, 'src'), top)
  const { code } = await call(FORKHESTRA, ['run-queue', '--parallel', '1'], join(top, 'src'), top)
  expect(code).toBe(0)
  expect(readFileSync(join(top, 'result'), 'utf8')).toBe('Second\n')
})

const READING = [
  'list',
  'list --json',
  'validate',
  'runs --json',
  'show --json',
  'show',
  'logs',
  'cost --json',
  'clean --keep 10',
  'queue',
  'queue verify',
  'receive',
  'send nobody hi',
  'cancel nobody',
  'inbox',
  'check',
  'stop',
  'status',
  'retry-now',
  'resume',
  'prompt check --chain build',
  '--chain build --dry-run -v',
  'chat --list',
  'completions --candidates 2 forkhestra --chain ',
]

test('reading commands show the same in a subfolder', async () => {
  const { top, deep } = makeRepository()
  await call(FORKHESTRA, ['--chain', 'build'], top, top)
  const plain = (text: string) => text.replaceAll(/[\d.]+ s ago|"\w+Ms":\d+|\d{8}-\d{6}-\w+/g, '')
  for (const line of READING) {
    const args = line.split(' ')
    const above = await call(FORKHESTRA, args, top, top)
    const below = await call(FORKHESTRA, args, deep, top)
    expect([line, plain(below.stdout)]).toEqual([line, plain(above.stdout)])
    expect([line, below.code]).toEqual([line, above.code])
  }
})

test('doctor checks the project, and does not suggest a nested one', async () => {
  const { top, deep } = makeRepository({ 'forge/orch/specs/PLAN.md': 'Plan' })
  const { stdout, stderr } = await call(FORKHESTRA, ['doctor'], deep, top)
  expect(stderr).toBe(`[forkhestra] Project: ${top}\n`)
  expect(stdout).toContain('forge/orch/chains.json is valid')
  expect(stdout).not.toContain('forkhestra init')
})

describe('forge-tasks', () => {
  test('works from a subfolder, and prints the project', async () => {
    const { top, deep } = makeRepository()
    await call(FORGE_TASKS, ['create', 'Task'], top, top)
    for (const line of ['list', 'next', 'view 1', 'search task', 'stats', 'doctor']) {
      const above = await call(FORGE_TASKS, line.split(' '), top, top)
      const below = await call(FORGE_TASKS, line.split(' '), deep, top)
      expect(below).toEqual({ ...above, stderr: `forge-tasks: Project: ${top}\n` })
      const plain = await call(FORGE_TASKS, [...line.split(' '), '--plain'], deep, top)
      expect(plain.stderr).toBe('')
    }
  })

  test('changes the tasks of the project from a subfolder', async () => {
    const { top, deep } = makeRepository({ 'src/forge/main.py': '' })
    const calls = [
      'create Task',
      'claim 1',
      'release 1',
      'next --claim',
      'edit 1 --status done',
      'archive --done',
      'unarchive 1',
      'delete 1',
      'init',
    ]
    for (const line of calls) {
      const { code, stderr } = await call(FORGE_TASKS, line.split(' '), deep, top)
      expect([line, code, stderr]).toEqual([line, 0, `forge-tasks: Project: ${top}\n`])
    }
    expect(existsSync(join(top, 'forge/tasks/config.json'))).toBe(true)
    expect(readdirSync(join(top, 'src/forge'))).toEqual(['main.py'])
  })

  test.each([
    ['forge-tasks mcp', 'list'],
    ['forkhestra mcp', 'task_list'],
  ])('%s serves the tasks of the project in a subfolder', async (server, name) => {
    const { top, deep } = makeRepository()
    await call(FORGE_TASKS, ['create', 'From the top'], top, top)
    const clientInfo = { name: 'test', version: '1' }
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
    const requests = [
      { id: 1, method: 'initialize', params },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name, arguments: {} } },
    ].map((request) => JSON.stringify({ jsonrpc: '2.0', ...request }))
    const { stdout } = await shell(`printf '%s\\n' '${requests.join("' '")}' | ${server}`, deep)
    expect(new TextDecoder().decode(stdout)).toContain('TASK-001 | To Do | - | From the top')
  })

  test.each(['src/forge/main.py', 'src/deep/forge/x', 'src/forge'])(
    'does not mistake %s for a project',
    async (path) => {
      const { top, deep } = makeRepository({ [path]: '' })
      await call(FORGE_TASKS, ['create', 'Task'], deep, top)
      expect(readdirSync(join(top, 'forge/tasks')).length).toBe(1)
    },
  )

  test('creates a project below the top of a repository only with --cwd', async () => {
    const top = makeProject({ '.git/HEAD': '', 'src/x': '' })
    const src = join(top, 'src')
    const refused = await call(FORGE_TASKS, ['create', 'One'], src, HOME)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain(
      `Create it there: forge-tasks create "One" --cwd ${top}\n  Or in this folder: forge-tasks create "One" --cwd .\n`,
    )
    expect(existsSync(join(src, 'forge'))).toBe(false)
    const { stdout } = await call(FORGE_TASKS, ['create', 'One', '--cwd', '.'], src, HOME)
    expect(stdout).toBe('Created TASK-001: One\n')
    expect(existsSync(join(src, 'forge/tasks'))).toBe(true)
  })
})

test('--cwd is taken literally', async () => {
  const { top, deep } = makeRepository()
  const args = ['--chain', 'build', '--cwd', 'src/deep']
  const { code, stderr } = await call(FORKHESTRA, args, top, HOME)
  expect(code).not.toBe(0)
  expect(stderr).not.toContain('Project:')
  await call(FORGE_TASKS, ['create', 'Here', '--cwd', deep], top, HOME)
  expect(existsSync(join(deep, 'forge/tasks'))).toBe(true)
})

test('a nested project is a separate project', async () => {
  const { top, deep } = makeRepository({ 'src/forge/tasks/config.json': '{"prefix":"SUB"}' })
  const { stdout, stderr } = await call(FORGE_TASKS, ['create', 'Inner'], deep, top)
  expect([stdout, stderr]).toEqual([
    'Created SUB-001: Inner\n',
    `forge-tasks: Project: ${top}/src\n`,
  ])
})

test.each([
  ['a nested repository', '.git/HEAD', ''],
  ['a nested worktree or submodule', '.git', 'gitdir: ../../.git/modules/deep\n'],
])('the project is not searched for above %s', async (_, path, text) => {
  const { top, deep } = makeRepository({ [`src/deep/${path}`]: text })
  const { stdout, stderr } = await call(FORKHESTRA, ['list'], deep, top)
  expect(stdout).not.toContain('chains.json')
  expect(stderr).toBe('')
})

describe('without a repository', () => {
  const outside = { ...PROJECT, '.git/HEAD': undefined }

  test('the search goes up to the folder below the home folder', async () => {
    const home = makeProject({ 'site/forge/orch/chains.json': CHAINS, 'site/src/x': '' })
    const { stderr } = await call(FORKHESTRA, ['list'], join(home, 'site/src'), home)
    expect(stderr).toBe(`[forkhestra] Project: ${home}/site\n`)
  })

  test('a project in the home folder is not used for its subfolders', async () => {
    const { '.git/HEAD': _, ...files } = outside
    const home = makeProject(files)
    const { stdout, stderr } = await call(FORKHESTRA, ['list'], join(home, 'src'), home)
    expect(stdout).not.toContain('chains.json')
    expect(stderr).toBe('')
    expect((await call(FORKHESTRA, ['list'], home, home)).stdout).toContain('chains.json')
  })
})

test.skipIf(process.getuid?.() !== 0)(
  'the project of another user is reported, and not used',
  async () => {
    const { top, deep } = makeRepository()
    chownSync(top, 12_345, 12_345)
    const { stdout, stderr } = await call(FORKHESTRA, ['list'], deep, HOME)
    expect(stdout).not.toContain('chains.json')
    expect(stderr).toBe(
      `[forkhestra] Warning: the project in ${top} belongs to another user and is not used; to use it: --cwd ${top}\n`,
    )
    const within = await call(FORKHESTRA, ['list'], top, HOME)
    expect([within.stdout, within.stderr]).toEqual([expect.stringContaining('chains.json'), ''])
  },
)

describe('init', () => {
  test.each([
    ['forkhestra init', FORKHESTRA],
    ['forge-tasks init', FORGE_TASKS],
  ])('%s suggests the top of the repository', async (command, program) => {
    const top = makeProject({ '.git/HEAD': '', 'src/x': '' })
    const src = join(top, 'src')
    const { code, stderr } = await call(program, ['init'], src, HOME)
    expect(code).toBe(2)
    expect(stderr).toContain(`${command} --cwd ${top}\n`)
    expect(readdirSync(src)).toEqual(['x'])
    const here = await call(program, ['init', '--cwd', '.'], src, HOME)
    expect([here.code, existsSync(join(src, 'forge'))]).toEqual([0, true])
  })

  test('in a subfolder of a project, files are written to that project', async () => {
    const { top, deep } = makeRepository()
    await call(FORKHESTRA, ['init'], deep, top)
    expect(existsSync(join(top, 'forge/orch/specs/PLAN.md'))).toBe(true)
    expect(existsSync(join(deep, 'forge'))).toBe(false)
  })
})

describe('records', () => {
  test('from before forge/ existed are found, even from a subfolder', async () => {
    const top = makeProject({ '.git/HEAD': '', 'src/x': '', worker: sh('exit 3') })
    const src = join(top, 'src')
    await forkhestra(['./worker'], { cwd: top })
    await call(FORKHESTRA, ['../worker'], src, top)
    writeFiles(top, { 'forge/orch/chains.json': CHAINS })
    await forkhestra(['./worker'], { cwd: top })
    const listed = async (cwd: string): Promise<string[]> => {
      const { stdout } = await call(FORKHESTRA, ['runs', '--json'], cwd, top)
      return JSON.parse(stdout).runs.map(({ id }: { id: string }) => id)
    }
    const [above, below] = [await listed(top), await listed(src)]
    expect([above.length, below.length]).toEqual([2, 3])
    const oldest = below.at(-1)!
    expect((await call(FORKHESTRA, ['show', oldest], src, top)).code).toBe(0)
    expect((await call(FORKHESTRA, ['logs', oldest], top, top)).code).toBe(0)
    const resumed = await call(FORKHESTRA, ['resume', oldest], src, top)
    expect(resumed.stdout).toContain('Running: ./worker')
    const cleaned = await call(FORKHESTRA, ['clean', '--keep', '1'], src, top)
    expect(cleaned.stdout).toContain('2 runs removed')
  })

  test('of a repository without a project are found from its subfolders', async () => {
    const top = makeProject({ '.git/HEAD': '', worker: sh('true') })
    mkdirSync(join(top, 'src'))
    await forkhestra(['./worker'], { cwd: top })
    const { stdout } = await call(FORKHESTRA, ['runs'], join(top, 'src'), top)
    expect(stdout).toContain('complete')
  })
})

test.each([
  'edit 1 -s done',
  'next --claim',
  'claim 1',
  'archive 1',
  'archive --done',
  'unarchive 1',
  'release 1',
  'delete 1',
  'doctor --fix',
  'create A --depends-on 7',
])('forge-tasks %s does not create a project', async (words) => {
  const cwd = makeProject()
  await call(FORGE_TASKS, words.split(' '), cwd, cwd)
  expect(readdirSync(cwd).filter((name) => !name.startsWith('.'))).toEqual([])
})

test('the first task creates a project with its local state', async () => {
  const cwd = makeProject()
  expect((await call(FORGE_TASKS, ['create', 'A'], cwd, cwd)).code).toBe(0)
  expect(readdirSync(join(cwd, 'forge/tasks')).toSorted()).toEqual(['.local', 'TASK-001 - A.md'])
})

test.each([
  ['forkhestra', FORKHESTRA, ['runs', 'list', 'queue', 'show', 'validate', 'doctor']],
  ['forge-tasks', FORGE_TASKS, ['list', 'next', 'stats']],
])('%s reports that the current folder is hidden by a mount', async (_, program, commands) => {
  const { top, deep } = makeRepository()
  for (const command of commands) {
    const script = `cd ${deep} && mount -t tmpfs none ${join(top, 'src')} && exec ${program} ${command}`
    const { code, stdout, stderr } = await call('unshare', ['-rm', 'sh', '-c', script], top, top)
    expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' })
    expect(stderr).toContain(`The current folder no longer exists: ${deep}\n  Change to`)
  }
})

test('a current folder whose name is not UTF-8 is reported', async () => {
  const cwd = makeProject()
  const script = `d=$(printf 'a\\377'); mkdir "$d" && cd "$d" && exec ${FORKHESTRA} list`
  const { code, stderr } = await call('sh', ['-c', script], cwd, cwd)
  expect(code).toBe(1)
  expect(stderr).toContain('The name of the current folder is not UTF-8 text: ')
})

test.skipIf(process.getuid?.() !== 0)('a current folder without access is reported', async () => {
  const { deep, top } = makeRepository()
  const script = `cd ${deep} && exec setpriv --reuid 65534 --clear-groups ${FORKHESTRA} runs`
  const { code, stderr } = await call('sh', ['-c', script], top, HOME)
  expect(code).toBe(1)
  expect(stderr).toStartWith(`[forkhestra] Error: The current folder cannot be read: `)
})

test('a run whose agent deletes the current folder says so and fails', async () => {
  const { top } = makeRepository({
    'project/forge/.keep': '',
    'project/agent': sh('while [ -e "$PWD" ]; do rm -rf "$PWD"; done'),
  })
  const cwd = join(top, 'project')
  const { code, stdout, stderr } = await call(FORKHESTRA, ['./agent', '--cwd', cwd], cwd, top)
  expect(stdout).toContain('All steps are complete, but the run failed (exit code 1)')
  expect(stderr).toContain(`the project folder ${cwd} was deleted or renamed during the run`)
  expect(stderr).not.toContain('Error')
  expect(code).toBe(1)
})

test('--cwd works from a hidden current folder', async () => {
  const { top, deep } = makeRepository()
  const hide = `cd ${deep} && mount -t tmpfs none ${join(top, 'src')}`
  const script = `${hide} && exec ${FORKHESTRA} --chain build --cwd ${top}`
  const { code, stdout } = await call('unshare', ['-rm', 'sh', '-c', script], top, top)
  expect(stdout).toContain('Chain complete (1/1 steps)')
  expect(code).toBe(0)
})
