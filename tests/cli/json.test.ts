import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { eventSchema, type RunEvent } from '../../src/records/events/schema.ts'
import { forkhestra, Running, survivors } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

function parse(text: string): RunEvent[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => eventSchema.parse(JSON.parse(line)))
}

function journalOf(cwd: string): { folder: string; events: RunEvent[] } {
  const root = join(cwd, 'forge/orch/runs')
  const [run] = readdirSync(root).filter((name) => !name.startsWith('.'))
  const folder = join(root, run!)
  const text = readFileSync(join(folder, 'events.ndjson'), 'utf8')
  return { folder, events: parse(text.slice(0, text.lastIndexOf('\n'))) }
}

test('--json prints events of the schema and nothing else', async () => {
  const cwd = makeProject({
    a: sh(
      'echo "I say ORCHESTRA_COMPLETE later"',
      'echo oops >&2',
      '[ $FORKHESTRA_ITERATION = 2 ] && echo ORCHESTRA_COMPLETE',
    ),
    b: sh('exit 3'),
    c: sh('exit 0'),
  })
  const { code, stdout, stderr } = await forkhestra(['a:3 -> b -> c', '--json'], { cwd })
  expect([code, stderr]).toEqual([1, ''])
  const events = parse(stdout)
  const numbered = events.filter(({ type }) => type !== 'output')
  expect(numbered.map(({ seq }) => seq)).toEqual(numbered.map((_, index) => index + 1))
  expect(numbered.map(({ type }) => type)).toEqual([
    'run_started',
    'step_started',
    'iteration_started',
    'marker_refused',
    'iteration_ended',
    'iteration_started',
    'iteration_ended',
    'step_ended',
    'step_started',
    'iteration_started',
    'iteration_ended',
    'step_ended',
    'step_ended',
    'run_ended',
  ])
  expect(events.filter((event) => event.type === 'step_ended')).toMatchObject([
    { step: 1, reason: 'marker', iterations: 2, scope: ['s1'] },
    { step: 2, reason: 'agent_failed', iterations: 1 },
    { step: 3, reason: 'skipped', iterations: 0 },
  ])
  expect(events.filter((event) => event.type === 'iteration_ended')).toMatchObject([
    { step: 1, iteration: 1, outcome: { kind: 'exited', code: 1 }, scope: ['s1', 'i1'] },
    { step: 1, iteration: 2, outcome: { kind: 'marker' } },
    { step: 2, iteration: 1, outcome: { kind: 'exited', code: 3 } },
  ])
  expect(events.at(-1)).toMatchObject({ type: 'run_ended', ok: false, exitCode: 1, leftovers: [] })
  const text = (stream: string) =>
    events
      .flatMap((event) => (event.type === 'output' && event.stream === stream ? [event.text] : []))
      .join('')
  expect(text('err')).toBe('oops\noops\n')
  expect(text('out')).toEndWith('ORCHESTRA_COMPLETE\n')
})

test('a character split by a pause is joined', async () => {
  const cwd = makeProject({ a: sh('printf "\\303"', 'sleep 0.3', 'printf "\\274\\377"') })
  const { stdout } = await forkhestra(['a', '--json'], { cwd })
  const text = parse(stdout).flatMap((event) => (event.type === 'output' ? [event.text] : []))
  expect(text.join('')).toBe('ü\uFFFD')
})

test('a refused start is an event', async () => {
  const cwd = makeProject()
  const { code, stdout } = await forkhestra(['nowhere', '--json'], { cwd })
  expect(code).toBe(2)
  expect(parse(stdout)).toMatchObject([
    { type: 'run_refused', exitCode: 2, message: 'Agent not found: nowhere' },
  ])
})

test('the dry run prints one event with every step', async () => {
  const cwd = makeProject({ a: sh('exit 0') })
  const args = ['a:2', '--json', '--dry-run', '-p', 'hi', '--', '--flag']
  const { stdout } = await forkhestra(args, { cwd })
  const step = {
    step: 1,
    agent: 'a',
    kind: 'binary',
    maxIterations: 2,
    args: ['--flag'],
    prompt: { text: 'hi', source: { level: 'command line' } },
    argv: [join(cwd, 'a'), '--flag', 'hi'],
  }
  expect(parse(stdout)).toMatchObject([{ type: 'dry_run', steps: [step] }])
})

test('with --json, a wrong option is reported as JSON', async () => {
  const cwd = makeProject({ 'bad.json': '[]' })
  const run = await forkhestra(['a', '--json', '--bogus'], { cwd })
  expect(parse(run.stdout)).toMatchObject([{ type: 'run_refused', exitCode: 2 }])
  const list = await forkhestra(['list', '--json', '--config', 'bad.json'], { cwd })
  expect(JSON.parse(list.stdout)).toMatchObject({ ok: false, problems: [{}] })
})

test('the published schema allows additional fields', () => {
  const text = readFileSync(join(import.meta.dir, '../../schema/events.schema.json'), 'utf8')
  expect(text).not.toContain('"additionalProperties": false')
})

test('the last event of an interrupted run has its exit code', async () => {
  const cwd = makeProject({ a: sh('echo begun', 'exec tail -f /dev/null') })
  const run = new Running(['a', '--json'], { cwd })
  await run.printed('begun')
  run.signal('SIGTERM')
  const { code, stdout } = await run.finished
  expect(code).toBe(143)
  expect(parse(stdout).slice(-3)).toMatchObject([
    { type: 'iteration_ended', outcome: { kind: 'interrupted' } },
    { type: 'step_ended', reason: 'interrupted' },
    { type: 'run_ended', ok: false, exitCode: 143 },
  ])
})

test('the journal has the same events, with output as offsets into a log', async () => {
  const cwd = makeProject({
    a: sh('printf one', 'printf two >&2', 'sleep 0.1', 'printf three'),
    'forge/x': '',
  })
  const { stdout } = await forkhestra(['a:2', '--json'], { cwd })
  const { folder, events } = journalOf(cwd)
  const withoutOutput = (list: RunEvent[]) => list.filter(({ type }) => type !== 'output')
  expect(withoutOutput(events)).toEqual(withoutOutput(parse(stdout)))
  const spans = events.filter((event) => event.type === 'output')
  expect(spans.length).toBeGreaterThanOrEqual(4)
  const text = spans
    .filter(({ stream, iteration }) => stream === 'out' && iteration === 2)
    .map(({ log, offset, bytes }) => {
      expect(log).toBe('steps/1/iterations/2.log')
      return readFileSync(join(folder, log!), 'utf8').slice(offset, offset! + bytes!)
    })
  expect(text.join('')).toBe('onethree')
  expect(events[0]).toMatchObject({
    type: 'run_started',
    schema: 1,
    cwd,
    record: folder,
    steps: [{ step: 1, agent: 'a', maxIterations: 2 }],
  })
  expect(readFileSync(join(cwd, 'forge/orch/runs/.gitignore'), 'utf8')).toBe('*\n')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('without a forge folder, the record is in the state folder of the user', async () => {
  const cwd = makeProject({ a: sh('exit 0') })
  await forkhestra(['a'], { cwd })
  const folders = readdirSync(join(cwd, '.state/forkhestra'))
  const [own = ''] = folders.filter((name) => name !== 'record-key')
  expect(own.slice(0, -9)).toBe(basename(cwd))
  const names = readdirSync(join(cwd, '.state/forkhestra', own))
  expect(names.filter((name) => /^\d{8}-\d{6}-\w{6}$/.test(name))).toHaveLength(1)
})

test('the log of a chatty iteration is capped', async () => {
  const cwd = makeProject({ a: sh('yes | head -c 30000000'), 'forge/x': '' })
  await forkhestra(['a'], { cwd })
  const { folder, events } = journalOf(cwd)
  const log = join(folder, 'steps/1/iterations/1.log')
  expect(statSync(log).size).toBeLessThan(9_000_000)
  expect(events.find((event) => event.type === 'iteration_ended')).toMatchObject({
    outputBytes: 30_000_000,
  })
  expect(readdirSync(join(folder, 'steps/1/iterations')).toSorted()).toEqual(['1.json', '1.log'])
  expect(events.length).toBeLessThan(100)
})

test('after kill -9, every line of the journal but the last is complete', async () => {
  const cwd = makeProject({ a: sh('echo $FORKHESTRA_ITERATION'), 'forge/x': '' })
  const run = new Running(['a:100000'], { cwd })
  await run.printed('Iteration 20/')
  run.signal('SIGKILL')
  await run.finished
  const { events } = journalOf(cwd)
  expect(
    events.filter((event) => event.type === 'iteration_started').length,
  ).toBeGreaterThanOrEqual(20)
  // The agent of a killed run keeps running; this one ends by itself.
  while (survivors().length > 0) await Bun.sleep(5)
})

test('if an agent deletes the record, the run continues with a warning', async () => {
  const cwd = makeProject({
    agent: sh(
      'head -c 9000000 /dev/zero',
      // The run may still write, so a folder may get a new file while it is being deleted.
      'until rm -rf forge/orch/runs 2>/dev/null; do :; done',
      'head -c 9000000 /dev/zero',
      'echo done',
    ),
    'forge/x': '',
  })
  const { code, stdout, stderr } = await forkhestra(['agent -> agent'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('Pipeline complete (2/2 steps)')
  expect(stderr).toMatch(/^\[forkhestra\] Warning: the run continues without a record: .*\n$/)
  expect(existsSync(join(cwd, 'forge/orch/runs'))).toBe(false)
})

test('an emptied .gitignore of the records is restored', async () => {
  const cwd = makeProject({ agent: sh('echo hi'), 'forge/orch/runs/.gitignore': '' })
  await forkhestra(['agent'], { cwd })
  expect(readFileSync(join(cwd, 'forge/orch/runs/.gitignore'), 'utf8')).toBe('*\n')
})

test('output reaches the journal while the agent is still running', async () => {
  const cwd = makeProject({ agent: sh('echo early', 'exec tail -f /dev/null'), 'forge/x': '' })
  const run = new Running(['agent'], { cwd })
  await run.printed('early')
  const isRecorded = () => journalOf(cwd).events.some((event) => event.type === 'output')
  while (!isRecorded()) await Bun.sleep(50)
  run.signal('SIGTERM')
  await run.finished
})
