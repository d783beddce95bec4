import { expect, test } from 'bun:test'
import { version } from '../../package.json'
import { TaskProject } from '../support/forge-tasks.ts'
import { forkhestra, Running, shell } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

test.each([
  [['builder:5', 'Fix the tests'], 'forkhestra builder:5 -p "Fix the tests"'],
  [['builder:5', 'Fix', 'the', 'tests'], 'forkhestra builder:5 -p "Fix the tests"'],
  [['builder:5 Fix the tests'], 'forkhestra builder:5 -p "Fix the tests"'],
  [['Fix the tests'], 'forkhestra builder:10 -p "Fix the tests"'],
  [['planner:3 --> builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3', '-->', 'builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3', '->', 'builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3', '=>', 'builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3', '||', 'builder:2'], 'Use: forkhestra "planner:3 || builder:2"\n'],
  [['./a', '&', './b', '&', './c'], 'Use: forkhestra "./a & ./b & ./c"\n'],
  [['--chain', 'build*4'], 'For copies of its last loop: forkhestra --chain build --copies 4\n'],
  [['--chain', 'build:5'], "There is no chain 'build:5' (did you mean 'build'?)"],
  [['--chain', 'ship'], ' has no configuration (forge/orch/chains.json).\n'],
  [['builder:2', '--copy', '4'], 'For 4 copies of the last loop: --copies 4\n'],
  [['planner:3,', 'builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3 => builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3, builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3 –> builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3 - > builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner:3 —› builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['builder:', '5'], 'forkhestra builder:5'],
  [['builder:5', '-m', 'Fix the tests'], 'Pass the prompt with -p'],
  [['planner:3', 'builder:2'], 'forkhestra "planner:3 -> builder:2"'],
  [['planner', '3'], 'forkhestra planner:3'],
  [['planner', 'x3'], 'forkhestra planner:3'],
  [['--cwd', '.', 'status'], 'Put the command first: forkhestra status --cwd .\n'],
  [['-v', 'resume'], 'Put the command first: forkhestra resume -v\n'],
  [['--follow', 'logs'], 'Put the command first: forkhestra logs --follow\n'],
  [['-v', 'run', 'builder:2'], 'Put the command first: forkhestra run -v builder:2\n'],
  [['-v', 'status'], 'To run an agent of that name: forkhestra run -v status\n'],
  [['--list'], 'forkhestra list'],
  [['--status'], 'forkhestra status'],
  [['--resume'], 'forkhestra resume'],
  [['--continue'], 'forkhestra resume'],
  [['-c', 'build'], 'To run a chain: --chain NAME.'],
  [['-version'], 'did you mean --version?'],
  [['builder', '--iterations', '5'], 'forkhestra builder:5'],
  [['builder', '-n', '5'], 'forkhestra builder:5'],
  [['builder', '--model', 'opus'], 'forge/orch/chains.json'],
  [['chain', 'build'], 'forkhestra --chain build'],
  [['chains'], "did you mean 'forkhestra list'?"],
  [['agents'], "did you mean 'forkhestra list'?"],
  [['start', 'builder:3'], 'Did you mean: forkhestra builder:3'],
  [['go'], 'forkhestra --chain NAME'],
  [['continue'], "did you mean 'forkhestra resume'?"],
  [['task', 'list'], 'Did you mean: forkhestra tasks list'],
  [['--chain', 'builder:3'], 'forkhestra builder:3'],
  [['--chain', 'build', 'all'], "Unexpected argument 'all' with --chain build."],
  [['./b:2', '--verify', 'npm', 'test'], 'Quote the command: --verify "npm test"\n'],
  [['./b:2', '--until', 'npm', 'run', 'e2e', '-v'], 'Quote the command: --until "npm run e2e"\n'],
  [['--chain', 'build', '--verify', 'npm', 'test'], 'Quote the command: --verify "npm test"\n'],
  [['./b:2', '--verify', 'test', '-e', 'foo'], 'Quote the command: --verify "test -e foo"\n'],
  [['./b', '--verify=tsc', '--noEmit', '.'], 'Quote the command: --verify "tsc --noEmit ."\n'],
  [['--verify', 'npm', 'test', './b:2'], 'Quote the command: --verify "npm test"\n'],
  [['./b:2', '-p', 'two', 'words'], 'Quote the prompt: -p "two words"\n'],
  [['./b', '--prompt', 'fix', 'the', 'tests'], 'Quote the prompt: -p "fix the tests"\n'],
  [['-p', 'fix', './b:2', './c:2'], 'forkhestra "./b:2 -> ./c:2"'],
  [['./b', '-p', 'fix', '--iterations', '5'], 'forkhestra builder:5'],
  [
    ['fake-model', 's.json', 'forkhestra', '--chain', 'c'],
    'Put -- before the command: forkhestra fake-model s.json -- forkhestra --chain c\n',
  ],
  [['./bilder'], "Agent not found: ./bilder (did you mean './builder'?)"],
  [['list', 'agents'], 'Usage: forkhestra list'],
  [['help', 'tsks'], 'Did you mean: forkhestra tasks'],
  [['help', 'chains'], 'forkhestra list'],
])('the hint for forkhestra %p says what to type', async (args, hint) => {
  const cwd = makeProject({ builder: sh('exit 0') })
  const { code, stdout, stderr } = await forkhestra(args, { cwd })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(hint)
})

test.each(['ui', 'worker', 'workers', 'store', 'upgrade', 'uninstall'])(
  '%s is reserved, and forkhestra run starts an agent of that name',
  async (word) => {
    const cwd = makeProject({ [word]: sh(`echo agent ${word}`) })
    const { code, stderr } = await forkhestra([word], { cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `[forkhestra] Error: '${word}' is reserved for a later version.\n  To run an agent of that name: forkhestra run ${word}\n`,
    })
    expect((await forkhestra(['run', word], { cwd })).stdout).toContain(`agent ${word}\n`)
  },
)

test('the commands help and version are the same as the options', async () => {
  const cwd = makeProject()
  const [help, option] = await Promise.all(
    [['help'], ['--help']].map((a) => forkhestra(a, { cwd })),
  )
  expect(help).toEqual(option)
  for (const args of [
    ['help', 'resume'],
    ['--help', 'resume'],
  ])
    expect(await forkhestra(args, { cwd })).toEqual(await forkhestra(['resume', '--help'], { cwd }))
  const tasks = await forkhestra(['help', 'tasks', 'list'], { cwd })
  expect(tasks.stdout).toContain('forge-tasks list --ready')
  for (const args of [['version'], ['-V'], ['--version']])
    expect(await forkhestra(args, { cwd })).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  expect((await forkhestra(['version', '--json'], { cwd })).stdout).toBe(
    `{"version":"${version}"}\n`,
  )
})

test('status shows live runs, the last run and open tasks', async () => {
  const cwd = makeProject({
    bad: sh('exit 3'),
    slow: sh('echo begun', 'exec sleep 60'),
    'forge/keep': '',
  })
  const empty = await forkhestra(['status'], { cwd })
  expect(empty).toEqual({
    code: 0,
    stdout: 'Active runs: none\nLast run: none\nTasks: none\n',
    stderr: '',
  })
  await forkhestra(['tasks', 'create', 'One'], { cwd })
  await forkhestra(['tasks', 'create', 'Two', '-s', 'done'], { cwd })
  await forkhestra(['bad'], { cwd })
  const live = new Running(['slow'], { cwd })
  await live.printed('begun')
  const { code, stdout } = await forkhestra(['status'], { cwd })
  expect(code).toBe(0)
  expect(stdout.replaceAll(/\d{8}-\d{6}-\w+/g, 'RUN').replaceAll(/  +/g, '  ')).toMatch(
    /^Active runs:\n  RUN  running  slow  .*\nLast run:\n  RUN  failed  bad  .*\nTasks: 1 open \(1 ready\), 1 done\nNext: forkhestra logs RUN --follow\nNext: forkhestra show RUN\n$/,
  )
  const json = JSON.parse((await forkhestra(['status', '--json'], { cwd })).stdout)
  expect(json).toMatchObject({
    live: [{ status: 'running' }],
    last: { status: 'failed' },
    tasks: { total: 2, ready: 1 },
  })
  live.signal('SIGTERM')
  await live.finished
  const after = await forkhestra(['status'], { cwd })
  expect(after.stdout).toMatch(/^Next: forkhestra show (\S+), then forkhestra resume \1$/m)
})

test.each([
  [['done', '1'], 'forge-tasks edit 1 --status done'],
  [['close', '1'], 'forge-tasks edit 1 --status done'],
  [['start', '1'], 'forge-tasks claim 1'],
  [['assign', '1', 'me'], 'forge-tasks edit 1 --assignee me'],
  [['comment', '1', 'looks good'], 'forge-tasks edit 1 --append-notes "looks good"'],
  [['todo'], 'forge-tasks list --status todo'],
  [['ready'], 'forge-tasks list --ready'],
  [['1'], 'forge-tasks view 1'],
  [['TASK-001'], 'forge-tasks view TASK-001'],
  [['Buy milk'], 'forge-tasks create "Buy milk"'],
  [['--list'], 'forge-tasks list'],
  [['task', 'create', 'X'], 'forge-tasks create X'],
  [['creat', 'X'], 'forge-tasks create X'],
  [['rm'], 'The id is missing.'],
  [['create', 'Add', 'a', 'login'], "forge-tasks create 'Add a login'"],
  [['create', '--title', 'X'], 'forge-tasks create "Title"'],
  [['edit', '1', 'done'], 'forge-tasks edit 1 --status done'],
  [['edit', '1', 'status=done'], 'forge-tasks edit 1 --status done'],
  [['edit', '1', '--done'], '--status done'],
  [['list', 'done'], 'forge-tasks list --status done'],
  [['list', '--done'], '--status done'],
])('the hint for forge-tasks %p says what to type', async (args, hint) => {
  const { code, stdout, stderr } = await new TaskProject().run(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(hint)
})

test('labels and dependencies may be lists', async () => {
  const project = new TaskProject()
  for (const title of ['One', 'Two']) await project.run(['create', title])
  await project.run(['create', 'Three', '--label', 'a,b', '--depends-on', '1,2'])
  await project.run(['edit', '1', '--label', 'c, d'])
  const view = async (id: string) => JSON.parse((await project.run(['view', id, '--json'])).stdout)
  expect(await view('3')).toMatchObject({
    labels: ['a', 'b'],
    dependencies: [{ id: 'TASK-001' }, { id: 'TASK-002' }],
  })
  expect(await view('1')).toMatchObject({ labels: ['c', 'd'] })
  const { stderr } = await project.run(['edit', '99', '--label', 'x'])
  expect(stderr).toStartWith(
    'forge-tasks: No task TASK-099.\n  Similar ids:\n    TASK-003  Three\n',
  )
})

test('common aliases of forge-tasks commands work', async () => {
  const project = new TaskProject()
  const tasks = async (...args: string[]) => (await project.run(args)).stdout
  expect(await tasks('add', 'One')).toBe('Created TASK-001: One\n')
  expect(await tasks('new', 'Two')).toBe('Created TASK-002: Two\n')
  expect(await tasks('find', 'One')).toContain('TASK-001')
  expect(await tasks('get', '1')).toContain('title: One')
  expect(await tasks('status')).toContain('To Do: 2')
  expect(await tasks('remove', '2')).toBe('Deleted TASK-002\n')
  expect(await tasks('version')).toBe(`${version}\n`)
  expect(await tasks('--help', 'add')).toStartWith('Create a task')
})

test('the chain examples of the help work after init', async () => {
  const cwd = makeProject({ claude: sh('exit 0') })
  const env = { IS_SANDBOX: '1' }
  await forkhestra(['init'], { cwd })
  await forkhestra(['tasks', 'create', 'One'], { cwd })
  const { stdout } = await forkhestra(['help'], { cwd })
  const examples = Array.from(
    stdout.matchAll(/forkhestra (--chain [a-z].*?)  /g),
    ([, words]) => words!,
  )
  expect(examples.length).toBeGreaterThan(1)
  for (const words of examples) {
    const { code, stderr } = await forkhestra([...words.split(' '), '--dry-run'], { cwd, env })
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' })
  }
})

test('a program shadowed by a built-in agent is reported with the command to run it', async () => {
  const cwd = makeProject({ builder: sh('exit 0'), 'forge/.keep': '' })
  await forkhestra(['tasks', 'create', 'One'], { cwd })
  const env = { PATH: process.env['PATH'] ?? '' }
  const { stderr } = await forkhestra(['builder:5', '--dry-run'], { cwd, env })
  expect(stderr).toContain('there is also ./builder here; to run it: forkhestra ./builder:5\n')
})

test('a misspelt command in a prompt file is reported once by a run and a dry run', async () => {
  const cwd = makeProject({ 'p.md': 'Go.\n\n/psh name=x do it\n', a: sh('exit 0') })
  for (const more of [[], ['--dry-run'], ['--raw-prompt']]) {
    const { code, stderr } = await forkhestra(['a -> a', '--prompt-file', 'p.md', ...more], { cwd })
    const warnings = stderr.split('\n').filter((line) => line.includes('/psh'))
    const said = "p.md: '/psh' is not a command and is sent as plain text (did you mean /push?)"
    expect(code).toBe(0)
    expect(warnings).toEqual(more.includes('--raw-prompt') ? [] : [`[forkhestra] Warning: ${said}`])
  }
})

test('the hint corrects the case of a variable', async () => {
  const chains = { ship: { steps: [{ agent: './a', prompt: 'Build ${FEATURE}.' }] } }
  const cwd = makeProject({ 'forge/orch/chains.json': JSON.stringify({ chains }) })
  const { code, stderr } = await forkhestra(['--chain', 'ship', 'feature=login'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('Use FEATURE=… instead of feature=…\n')
})

test('prompt check warns about unreadable files and exits with 0', async () => {
  const cwd = makeProject({ 'p.md': '/read missing.md\nDo it\n' })
  const { code, stdout } = await forkhestra(['prompt', 'check', 'p.md'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain(`Warning: 'missing.md' cannot be read; the agent would get`)
})

test.each([
  [['a b'], 'Use: forkhestra "a -> b", or, as a prompt, forkhestra builder:10 -p "a b"\n'],
  [['tasks', '--cwd', '.', 'list'], 'Did you mean: forge-tasks list --cwd .\n'],
  [['chat'], 'and set OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY.'],
  [['validate'], 'with "engine": "native" also provider/id such as "openai/gpt-6-sol"'],
])('the hint for %p says what was probably meant', async (args, hint) => {
  const agents = { x: { engine: 'native', model: 'foo' } }
  const files = { 'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }) }
  const cwd = makeProject(args[0] === 'validate' ? files : {})
  const { code, stderr } = await forkhestra(args, { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(hint)
})

test('for an unquoted chain, the error names the file that the shell has emptied', async () => {
  const cwd = makeProject({ a: sh('true'), b: sh('echo mine') })
  const { code, stderr } = await shell('forkhestra ./a:2 -> ./b', cwd)
  expect(code).toBe(2)
  expect(stderr).toContain('Quote the chain')
  expect(stderr).toContain("The shell has created or emptied 'b': restore it")
})
