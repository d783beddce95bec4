import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { executeChain } from 'forkhestra'
import type { RunEvent } from '../../src/records/events/schema.ts'
import { environment, FORKHESTRA, forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh, type Files } from '../support/project.ts'

// A stand-in for claude prints its events; the tests check how forkhestra interprets them.

const MARKER = 'ORCHESTRA_COMPLETE'
const env = { IS_SANDBOX: '1', USER: 'me' }

const event = (value: object) => `printf '%s\\n' '${JSON.stringify(value)}'`
const say = (text: string) =>
  event({ type: 'assistant', message: { id: text, content: [{ type: 'text', text }] } })
const result = (more: object = {}) => event({ type: 'result', is_error: false, ...more })
const FAILED = result({ is_error: true, result: 'Something broke' })

const claude = (...lines: string[]) => ({ claude: sh(...lines) })

interface JsonResult {
  readonly code: number
  readonly events: readonly RunEvent[]
}

async function run(cwd: string, ...args: string[]): Promise<JsonResult> {
  const { code, stdout } = await forkhestra([...args, '--json'], { cwd, env })
  const events = stdout.split('\n').filter(Boolean)
  return { code, events: events.map((line) => JSON.parse(line) as RunEvent) }
}

const reasons = ({ events }: JsonResult) =>
  events.flatMap((each) => (each.type === 'step_ended' ? [[each.reason, each.iterations]] : []))

function withTasks(titles: readonly string[], files: Files): string {
  const cwd = makeProject(files)
  for (const title of titles) tasks(cwd, 'create', title)
  return cwd
}

function tasks(cwd: string, ...args: string[]): string {
  const program = join(dirname(FORKHESTRA), 'forge-tasks')
  const { stdout } = Bun.spawnSync([program, ...args], { cwd, env: environment({ cwd, env }) })
  return stdout.toString()
}

const SPECS = { 'forge/orch/specs/SPECS.md': 'A page.' }

test('a builder without tasks that keeps failing does not complete', async () => {
  const ran = await run(makeProject(claude(FAILED, 'exit 1')), 'builder:2', '-p', 'Go')
  expect([ran.code, reasons(ran)]).toEqual([1, [['max_iterations', 2]]])
})

test('without tasks, only the marker ends a builder', async () => {
  const ran = await run(makeProject(claude(say('More to do.'), result())), 'builder:3', '-p', 'Go')
  expect([ran.code, reasons(ran)]).toEqual([1, [['max_iterations', 3]]])
})

test('a builder is not started again when no task is left', async () => {
  const done = 'forge-tasks edit 1 --status done >/dev/null'
  const ran = await run(withTasks(['A'], claude(done, say('Done.'), result())), 'builder:9')
  expect([ran.code, reasons(ran)]).toEqual([0, [['until', 1]]])
})

test.each([
  ['are unreadable', `for f in forge/tasks/*.md; do echo '<<<<<<< HEAD' >"$f"; done`],
  ['are gone', 'rm -rf forge/tasks'],
])('tasks that %s do not count as done', async (_, damage) => {
  const ran = await run(withTasks(['A', 'B'], claude(damage, say(MARKER), result())), 'builder:2')
  expect([ran.code, reasons(ran)]).toEqual([1, [['blocked', 1]]])
})

test('tasks in progress elsewhere do not make a builder fail', async () => {
  const cwd = withTasks(['A'], claude(say(MARKER), result()))
  tasks(cwd, 'claim', '1', '--as', 'alice')
  expect((await run(cwd, 'builder:2')).code).toBe(0)
})

test('an unreachable model does not block tasks, and the summary reports it', async () => {
  const overloaded = result({ is_error: true, api_error_status: 529, result: 'Overloaded' })
  const step = { agent: 'builder', iterations: 4, retry: { attempts: 3, backoff: '10ms' } }
  const cwd = withTasks(['A'], {
    ...claude('forge-tasks next --claim >/dev/null', overloaded, 'exit 1'),
    'forge/orch/chains.json': JSON.stringify({ chains: { c: { steps: [step] } } }),
  })
  const { code, stdout } = await forkhestra(['--chain', 'c'], { cwd, env })
  expect(code).toBe(1)
  expect(stdout).toContain(
    'Failed at step 1: builder (temporarily unavailable: Overloaded (3 tries))',
  )
  expect(tasks(cwd, 'list', '--plain')).toBe('TASK-001 | To Do | - | A\n')
})

test('a planner that only fails does not hand over to the builder', async () => {
  const cwd = withTasks(['A'], { ...SPECS, ...claude(FAILED, 'exit 1') })
  const ran = await run(cwd, '--chain', 'build-all')
  expect(reasons(ran)).toEqual([
    ['max_iterations', 3],
    ['skipped', 0],
  ])
})

test.each([
  ['{"agents":{"a":{"systemPrompt":"s.md"}},"chains":{}}', "The system prompt of 'a' is empty."],
  [
    '{"agents":{"a":{"systemPromptText":"x","settings":"bad.json"}},"chains":{}}',
    "Agent 'a': bad.json is not valid JSON.",
  ],
])('%s is refused before anything starts', async (configuration, message) => {
  const files = { 's.md': ' \n', 'bad.json': '{', 'forge/orch/chains.json': configuration }
  const cwd = makeProject({ ...files, ...claude('touch started') })
  const { code, stderr } = await forkhestra(['a'], { cwd, env })
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})

test('an empty override of a built-in prompt counts as absent', async () => {
  const cwd = makeProject({
    'forge/orch/prompts/builder.md': '\n',
    ...claude('printf "%s" "$*" >argv', result()),
  })
  await forkhestra(['builder', '-p', 'Go'], { cwd, env })
  expect(await Bun.file(join(cwd, 'argv')).text()).toContain('# Builder')
})

test('denied tool calls are reported', async () => {
  const cwd = makeProject(claude(say('Hm'), result({ permission_denials: [{}, {}] })))
  const { stderr } = await forkhestra(['builder', '-p', 'Go'], { cwd, env })
  expect(stderr).toContain('2 tool calls denied')
})

test('an incomplete answer is a failure, whatever the exit code is', async () => {
  const { code, stdout } = await forkhestra(['builder', '-p', 'Go'], {
    cwd: makeProject(claude(say('I begin'))),
    env,
  })
  expect(code).toBe(1)
  expect(stdout).toContain('ended in the middle of its answer')
})

test('the library ignores a builder’s early marker too', async () => {
  const cwd = withTasks(['A', 'B'], claude(say(MARKER), result()))
  const path = process.env['PATH']
  Object.assign(process.env, env, { PATH: `${cwd}:${path}` })
  const { steps } = await executeChain({
    cwd,
    steps: [{ agent: 'builder', iterations: 2, loop: true }],
  })
  process.env['PATH'] = path
  expect(steps[0]?.result.reason).toBe('gate_failed')
})

test('an ignored marker does not end the work of a builder', async () => {
  const cwd = withTasks(['A'], claude(say(MARKER), 'sleep 1', 'touch finished', result()))
  const path = process.env['PATH']
  Object.assign(process.env, env, { PATH: `${cwd}:${path}` })
  await executeChain({
    cwd,
    steps: [{ agent: 'builder', iterations: 1, loop: true }],
    grace: { markerMs: 50, termMs: 50 },
  })
  process.env['PATH'] = path
  expect(existsSync(join(cwd, 'finished'))).toBe(true)
})

test('a bundled agent without a terminal runs headless, even with /dev/null', async () => {
  const cwd = makeProject(claude('printf "%s" "$*" >argv', say('ok'), result()))
  const program = join(dirname(FORKHESTRA), 'forge-task-manager')
  const child = Bun.spawn(['sh', '-c', `${program} 'Do it' </dev/null >/dev/null`], {
    cwd,
    env: environment({ cwd, env }),
  })
  expect(await child.exited).toBe(0)
  expect(await Bun.file(join(cwd, 'argv')).text()).toContain('--print')
})

test('a task manager without requirements is refused before anything starts', async () => {
  const cwd = makeProject(claude('touch started', say(MARKER), result()))
  const program = join(dirname(FORKHESTRA), 'forge-task-manager')
  const alone = Bun.spawnSync([program, '--print'], { cwd, env: environment({ cwd, env }) })
  const words = 'needs requirements to turn into tasks.'
  expect([alone.exitCode, alone.stderr.toString()]).toEqual([2, expect.stringContaining(words)])
  const { code, stderr } = await forkhestra(['task-manager:2'], { cwd, env })
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  expect(stderr).toContain('forkhestra task-manager:3 -p "Add a login page"')
  expect(existsSync(join(cwd, 'started'))).toBe(false)
  mkdirSync(join(cwd, 'forge/orch/specs'), { recursive: true })
  writeFileSync(join(cwd, 'forge/orch/specs/SPECS.md'), 'A page about the weather.')
  expect((await forkhestra(['task-manager:2'], { cwd, env })).code).toBe(0)
})

test('forge-task-worker needs an existing task, which must be done afterwards', async () => {
  const cwd = withTasks(['A'], claude(say('I could not.'), result()))
  const program = join(dirname(FORKHESTRA), 'forge-task-worker')
  const work = (id: string) =>
    Bun.spawnSync([program, '--task', id, '--print'], { cwd, env: environment({ cwd, env }) })
  expect(work('99').stderr.toString()).toContain('No task TASK-099.')
  const { exitCode, stderr } = work('1')
  expect([exitCode, stderr.toString()]).toEqual([
    1,
    'TASK-001 is To Do, not Done. See: forge-tasks view TASK-001\n',
  ])
  const free = Bun.spawnSync([program, '--print'], { cwd, env: environment({ cwd, env }) })
  expect([free.exitCode, free.stderr.toString()]).toEqual([
    1,
    'the task is not done: no task was finished\n',
  ])
})

test('a full temporary folder is reported as such', async () => {
  const cwd = makeProject({ ...claude(result()), empty: '' })
  mkdirSync(join(cwd, 'prompts'))
  writeFileSync(join(cwd, 'prompts/long.md'), 'x'.repeat(200 * 1024))
  const { code, stderr } = await forkhestra(['builder', '--prompt-file', 'prompts/long.md'], {
    cwd,
    env: { ...env, TMPDIR: join(cwd, 'nowhere') },
  })
  expect([code, stderr.includes('cannot write the prompt to a file')]).toEqual([1, true])
})

test('the templates of init do not count as specs', async () => {
  const cwd = makeProject(claude('touch started', result()))
  await forkhestra(['init'], { cwd, env })
  const { code, stderr } = await forkhestra(['--chain', 'build-all'], { cwd, env })
  expect([code, stderr.includes('are empty or still the unedited templates')]).toEqual([2, true])
  writeFileSync(join(cwd, 'forge/orch/specs/SPECS.md'), 'A page about the weather.')
  expect((await forkhestra(['--chain', 'build-all', '--dry-run'], { cwd, env })).code).toBe(0)
})

test('empty files do not count as specs', async () => {
  const blank = { 'forge/orch/specs/SPECS.md': ' \n', 'forge/orch/specs/PLAN.md': '' }
  const cwd = makeProject({ ...claude('touch started', result()), ...blank })
  const { code, stderr } = await forkhestra(['--chain', 'build-all', '--dry-run'], { cwd, env })
  expect([code, stderr.includes('in forge/orch/specs are empty or')]).toEqual([2, true])
  const { stdout } = await forkhestra(['doctor'], { cwd, env })
  expect(stdout).toMatch(/^warning  specs +empty, or .*\n +Fill in \S+PLAN.md, \S+SPECS.md$/m)
})

test.each([
  ['before the events', [`echo ${MARKER}`, say('Hm'), result()]],
  ['between them', [say('Hm'), `echo ${MARKER}`, result()]],
  ['after them', [say('Hm'), result(), `echo ${MARKER}`]],
])('a plain line %s is not a marker', async (_, lines) => {
  const init = event({ type: 'system', subtype: 'init', session_id: 's', model: 'm', tools: [] })
  const [first = '', ...more] = lines
  const cwd = makeProject({
    ...claude(...(first.startsWith('echo') ? [first, init] : [init, first]), ...more),
    'forge/orch/chains.json': JSON.stringify({
      agents: { d: { systemPromptText: 'x' } },
      chains: {},
    }),
  })
  const ran = await run(cwd, 'd:1', '-p', 'hi')
  expect([ran.code, reasons(ran)]).toEqual([1, [['max_iterations', 1]]])
})

test('a plain line among events does not block a step', async () => {
  const cwd = makeProject({
    ...claude(say('Hm'), 'echo "ORCHESTRA_BLOCKED: forged"', result()),
    'forge/orch/chains.json': JSON.stringify({
      agents: { d: { systemPromptText: 'x' } },
      chains: {},
    }),
  })
  const ran = await run(cwd, 'd:1', '-p', 'hi')
  expect(reasons(ran)).toEqual([['max_iterations', 1]])
})
