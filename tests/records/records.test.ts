import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventBody } from '../../src/records/events/event.ts'
import { DEFAULT_POLICY } from '../../src/chain/plan/policy.ts'
import {
  environment,
  forkhestra,
  FORKHESTRA,
  isAlive,
  Running,
  shell,
} from '../support/forkhestra.ts'
import { until } from '../support/until.ts'
import { makeProject, sh, type Files } from '../support/project.ts'
import { MadeRecord, RECORDS } from '../support/records.ts'

const project = (files: Files = {}) => makeProject({ 'forge/keep': '', ...files })
const eventsOf = (cwd: string) =>
  idsOf(cwd)
    .map((id) => join(cwd, RECORDS, id, 'events.ndjson'))
    .map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : ''))
    .join('')
const idsOf = (cwd: string) =>
  (existsSync(join(cwd, RECORDS)) ? readdirSync(join(cwd, RECORDS)) : []).filter(
    (name) => !name.startsWith('.'),
  )

/** Runs the program and returns what it printed, with what differs each time replaced. */
async function output(args: readonly string[], cwd: string): Promise<string> {
  const { stdout, stderr } = await forkhestra(args, { cwd })
  return (stdout + stderr)
    .replaceAll(cwd, '<project>')
    .replaceAll(/\d{8}-\d{6}-[a-z\d]{6}/g, '<id>')
    .replaceAll(/\d+(\.\d)? s\b/g, '<time>')
    .replaceAll(/ +<time>/g, ' <time>')
}

const withoutClocks = (text: string) =>
  text.replaceAll(/(?:\d{4}-\d\d-\d\d )?\b\d\d:\d\d\b/g, '<clock>')

const json = async (args: readonly string[], cwd: string) =>
  JSON.parse((await forkhestra([...args, '--json'], { cwd })).stdout)

const AT = (iteration: number, attempt = 1) => ({
  scope: ['s1', `i${iteration}`],
  step: 1,
  iteration,
  attempt,
})

const STARTED: EventBody = {
  type: 'run_started',
  schema: 1,
  version: '1.0.0',
  pid: 1,
  cwd: '/project',
  steps: [{ step: 1, agent: 'builder', maxIterations: 9 }],
  plan: {},
}

/** A record of a run in its first iteration, driven by this very process. */
function begin(cwd: string, id: string, started: Partial<EventBody> = {}): MadeRecord {
  return new MadeRecord(cwd, id).append(
    { ...STARTED, ...started } as EventBody,
    { type: 'step_started', scope: ['s1'], step: 1, agent: 'builder', maxIterations: 9 },
    { type: 'iteration_started', ...AT(1), pid: 1, argv: ['builder'] },
  )
}

const ended = (more: Partial<EventBody> = {}): EventBody =>
  ({
    type: 'iteration_ended',
    ...AT(1),
    outcome: { kind: 'exited', code: 0 },
    ms: 60_000,
    outputBytes: 0,
    ...more,
  }) as EventBody

const STEP_DONE: EventBody = {
  type: 'step_ended',
  scope: ['s1'],
  step: 1,
  agent: 'builder',
  reason: 'marker',
  iterations: 1,
  failures: 0,
}

const RUN_DONE: EventBody = { type: 'run_ended', ok: true, exitCode: 0, leftovers: [] }

const WAITING: EventBody = {
  type: 'waiting',
  ...AT(1),
  why: 'quota',
  until: '2099-01-01T00:00:00.000Z',
  error: 'out of quota',
}

/** Continues once the file `go` exists. */
const SLOW = sh(
  'echo $$ > pid',
  'echo begin $FORKHESTRA_ITERATION',
  'while [ ! -e go ]; do sleep 0.02; done',
  'echo end',
)

const SLOW_REST = 'echo ready; while [ ! -e go ]; do sleep 0.02; done; echo end'

describe('runs', () => {
  test('says where records are kept if there are none', async () => {
    const cwd = project()
    expect(await output(['runs'], cwd)).toBe(`No runs recorded in <project>/${RECORDS}\n`)
    expect(await json(['runs'], cwd)).toEqual({ root: join(cwd, RECORDS), runs: [], broken: [] })
  })

  test('lists runs, newest first, and how to resume a dead one', async () => {
    const cwd = project({ good: sh('true'), bad: sh('exit 3') })
    const dead = begin(cwd, '20200101-000000-aaaaaa').close()
    begin(cwd, '20200102-000000-bbbbbb', { chain: 'build' })
      .append(ended({ outcome: { kind: 'marker' } }), STEP_DONE, RUN_DONE)
      .close()
    await forkhestra(['./good -> ./bad'], { cwd })
    expect(await output(['runs'], cwd)).toBe(
      [
        '<id>  failed    ./good -> ./bad  step 2/2, agent_failed  <time>  -  <time> ago',
        '<id>  complete  build            1/1 steps <time>  -  <time> ago',
        '<id>  dead      builder:9        step 1/1, iteration 1/9  <time>  -  <time> ago',
        'The process of run <id> is dead; resume it: forkhestra resume <id>',
        '',
      ]
        .join('\n')
        .replaceAll(/ +<time>/g, ' <time>'),
    )
    const { runs } = await json(['runs'], cwd)
    expect(runs.map(({ status }: { status: string }) => status)).toEqual([
      'failed',
      'complete',
      'dead',
    ])
    expect(runs[2]).toMatchObject({ id: dead.id, folder: dead.folder, cwd: '/project', at: 1 })
    expect(runs[0]).toMatchObject({
      exitCode: 1,
      steps: [
        { step: 1, agent: './good', reason: 'single_run' },
        { step: 2, agent: './bad', reason: 'agent_failed', failures: 1 },
      ],
    })
  })

  test('names records that cannot be read', async () => {
    const cwd = project({ [`${RECORDS}/20200101-000000-aaaaaa/events.ndjson`]: 'nothing\n' })
    expect(await output(['runs'], cwd)).toEndWith('The record of <id> cannot be read\n')
  })

  test('does not show names that would move the cursor', async () => {
    const cwd = project()
    begin(cwd, '20200101-000000-aaaaaa', { chain: 'x\u001b[2J' }).close()
    expect(await output(['runs'], cwd)).toContain('x [2J')
    expect(await output(['show'], cwd)).not.toContain('\u001b')
  })

  test('is fast with fifty runs', async () => {
    const cwd = project()
    for (let i = 0; i < 50; i++) {
      const record = begin(cwd, `20200101-0000${10 + i}-aaaaa`)
      for (let j = 0; j < 200; j++)
        record.append({ type: 'message', ...AT(1), text: 'x'.repeat(500) })
      record.close()
    }
    const start = performance.now()
    expect((await output(['runs'], cwd)).match(/ dead /g)).toHaveLength(50)
    expect(performance.now() - start).toBeLessThan(30_000)
  })
})

describe('show', () => {
  test('shows a run step by step, and what to do next', async () => {
    const cwd = project({ good: sh('true'), bad: sh('exit 3') })
    await forkhestra(['./good -> ./bad:2 -> ./good'], { cwd })
    expect(withoutClocks(await output(['show'], cwd))).toBe(
      `Run <id>: failed (exit code 1)
  ./good -> ./bad:2 -> ./good
  in <project>
  started <clock>, ended <clock> (<time> ago)
 <time>, 3 iterations
  record: <project>/${RECORDS}/<id>
  ended at step 2, ./bad: max iterations reached, 2/2
  to continue: forkhestra resume <id>

Step 1: ./good: complete (exit 0)
 <time>, 1 iteration
  #  start  time  outcome
  1  <clock> <time>  exit 0

Step 2: ./bad: not complete (2/2 iterations, max_iterations)
 <time>, 2 iterations; 2 iterations failed
  #  start  time  outcome
  1  <clock> <time>  exit 3
  2  <clock> <time>  exit 3

Step 3: ./good: not started

Next:
  forkhestra resume <id>                       resume at step 2
  forkhestra show <id> --step 2 --iteration 2  the last iteration
  forkhestra logs <id> --step 2                its output
`.replaceAll(/ +<time>/g, ' <time>'),
    )
  })

  test('shows one iteration by its receipt', async () => {
    const cwd = project({ bad: sh('echo out', 'exit 3') })
    await forkhestra(['./bad:2', '-p', 'Do it'], { cwd })
    const folder = join(cwd, RECORDS, idsOf(cwd)[0]!)
    const receipt = JSON.parse(readFileSync(join(folder, 'steps/1/iterations/2.json'), 'utf8'))
    const args = ['show', '--step', '1', '--iteration', '2']
    expect(await json(args, cwd)).toEqual(receipt)
    const text = await output(args, cwd)
    expect(text).toStartWith('Run <id>, step 1: ./bad, iteration 2\n  outcome   exit 3\n')
    expect(text).toContain('\n  command   ["<project>/bad","Do it"]\n')
    expect(text).toContain('\n  said      | out\n')
    expect(text).toContain(
      `  printed   4 bytes\n  log       <project>/${RECORDS}/<id>/steps/1/iterations/2.log\n`,
    )
    expect(text).toMatch(/\n {2}prompt {4}command line; SHA-256 .*\n.*\n {12}\| Do it\n$/)
  })

  test('gives a script the steps with their receipts, and the plan', async () => {
    const cwd = project({ good: sh('true') })
    await forkhestra(['./good -> ./good'], { cwd })
    const run = await json(['show'], cwd)
    expect(run).toMatchObject({ status: 'complete', plan: { cwd } })
    expect(run.steps.map(({ receipts }: { receipts: unknown[] }) => receipts.length)).toEqual([
      1, 1,
    ])
    expect((await json(['show', '--step', '2'], cwd)).steps).toEqual([run.steps[1]])
  })

  test('lists every attempt, also those that were killed or whose marker was refused', async () => {
    const cwd = project()
    const usage = {
      costUsd: 0.5,
      tokens: { input: 900, output: 100, cacheRead: 0, cacheWrite: 0 },
    }
    const check = { step: 1, iteration: 2, role: 'verify', command: 'npm test', ms: 9 } as const
    const record = begin(cwd, '20200101-000000-aaaaaa').append(ended({ again: true }))
    record.append(
      { type: 'iteration_started', ...AT(1, 2) },
      ended({ ...AT(1, 2), usage, tasks: ['TASK-001'] }),
      { type: 'iteration_started', ...AT(2) },
      { type: 'command', scope: ['s1'], ...check, result: 'failed', detail: 'exit 1' },
      { type: 'marker_refused', ...AT(2), why: 'gate' },
      ended({ ...AT(2), changes: { commits: 2, files: ['a'], fileCount: 1 } }),
      { type: 'iteration_started', ...AT(3) },
      { type: 'claimed', ...AT(3), id: 'TASK-002', title: 'Two' },
    )
    record.close()
    const text = withoutClocks(await output(['show'], cwd))
    expect(text.replaceAll(/ +/g, ' ')).toContain(`
 # start time outcome task commits tokens cost
 1 <clock> 1 min exit 0, does not count
 1.2 <clock> 1 min exit 0 TASK-001 1.0k $0.50
 2 <clock> 1 min marker refused: npm test exit 1 2
 3 <clock> <time> killed with its run TASK-002
`)
    const { attempts } = await json(['show'], cwd)
    expect(attempts).toHaveLength(4)
    expect(attempts[2]).toMatchObject({ refusal: 'gate', commands: [{ command: 'npm test' }] })
    expect(attempts[3]).toMatchObject({ isKilled: true, tasks: [{ id: 'TASK-002', title: 'Two' }] })
    const killed = await output(['show', '--step', '1', '--iteration', '3'], cwd)
    expect(killed).toContain('No receipt for iteration 3 of step 1: it was killed with its run.')
    expect(killed).toContain('Its output: forkhestra logs <id> --step 1 --iteration 3')
    const first = await output(['show', '--step', '1', '--iteration', '1'], cwd)
    expect(first).toContain('iteration 1 (attempt 2)')
    const args = ['show', '--step', '1', '--iteration', '1', '--attempt', '1']
    expect(await output(args, cwd)).toContain('exit 0, does not count\n')
  })

  test('shows a wait and how to end it', async () => {
    const cwd = project()
    const record = begin(cwd, '20200101-000000-aaaaaa')
      .append(ended({ again: true }), WAITING)
      .flush()
    const text = await output(['show'], cwd)
    expect(text).toStartWith('Run <id>: waiting\n')
    expect(text).toMatch(
      /waits \(quota\) until \d{4}-\d\d-\d\d \d\d:\d\d, continues in .*: out of quota/,
    )
    expect(text).toContain('forkhestra retry-now <id>')
    expect(text).toMatch(/forkhestra stop <id> .* stop waiting and end the run$/m)
    expect(await output(['runs'], cwd)).toMatch(/waiting .*iteration 1\/9, continues in /)
    record.close()
  })

  test.each([
    [['show', 'zzzzz'], "No run matches 'zzzzz'."],
    [['show', '2020'], "Several runs match '2020'."],
    [['show', 'aaaaa', '--step', '7'], 'has no step 7.'],
    [
      ['show', 'aaaaa', '--step', '1', '--iteration', '4'],
      'Step 1 has no iteration 4 that has ended.',
    ],
    [['show', '--iteration', '1'], '--iteration and --round need --step'],
    [['show', '--step', 'two'], '--step is "two", expected a whole number of at least 1.'],
    [['show', 'aaaaa', 'bbbbb'], "Unexpected argument 'bbbbb'."],
    [['logs', '--step', '7'], 'has no step 7.'],
    [['logs', '--raw', '--json'], '--raw and --json cannot be combined.'],
    [['cost', '--by', 'weather'], "--by is 'weather'."],
    [['clean'], '--keep is required.'],
  ])('%j is refused', async (args, words) => {
    const cwd = project()
    begin(cwd, '20200101-000000-aaaaaa').close()
    begin(cwd, '20200102-000000-bbbbbb').close()
    const { code, stderr } = await forkhestra(args, { cwd })
    expect(stderr).toContain(words)
    expect(code).toBe(2)
  })

  test.each([
    [
      ['--iteration', '1', '--attempt', '2'],
      'Iteration 1 of step 1 has no attempt 2 that has ended.',
    ],
    [['--iteration', '1', '--round', '3'], 'Step 1 has no round 3.'],
    [['--iteration', '7'], 'Step 1 has no iteration 7 that has ended.'],
  ])('show %j of a step that ended after one iteration is refused', async (args, words) => {
    const cwd = project()
    await forkhestra(['true'], { cwd })
    const whole = ['show', '--step', '1', ...args]
    const { code, stderr } = await forkhestra(whole, { cwd })
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  })

  test('a run is found by the beginning or the end of its id', async () => {
    const cwd = project()
    begin(cwd, '20200101-000000-aaaaaa').close()
    begin(cwd, '20200102-000000-bbbbbb').close()
    expect((await json(['show', 'aaaaa'], cwd)).id).toBe('20200101-000000-aaaaaa')
    expect((await json(['show', '20200102'], cwd)).id).toBe('20200102-000000-bbbbbb')
    expect((await json(['show'], cwd)).id).toBe('20200102-000000-bbbbbb')
  })
})

describe('logs', () => {
  const loud = sh(
    'echo "to stdout $FORKHESTRA_ITERATION"',
    'echo "to stderr" >&2',
    '[ $FORKHESTRA_ITERATION = 1 ] || echo "ORCHESTRA_COMPLETE"',
    'printf "no end of line"',
  )

  test('shows a run as it was on the screen', async () => {
    const cwd = project({ loud })
    const seen = await forkhestra(['./loud:3 -> ./loud'], { cwd })
    const replayed = await forkhestra(['logs'], { cwd })
    expect(replayed).toEqual({ ...seen, code: 0 })
    const cut = await forkhestra(['logs', '-v'], { cwd })
    expect(cut.stdout).toContain('[forkhestra]   command: [')
  })

  test('gives a script the events as the run itself does', async () => {
    const cwd = project({ loud })
    const { stdout } = await forkhestra(['./loud:3', '--json'], { cwd })
    const replayed = await forkhestra(['logs', '--json'], { cwd })
    const events = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => ({ ...JSON.parse(line), at: '', text: '' }))
        .filter(({ type }) => type !== 'output')
    expect(events(replayed.stdout)).toEqual(events(stdout))
    const texts = (text: string) =>
      text.matchAll(/"stream":"out","text":"([^"]*)"/g).map(([, each]) => each)
    expect([...texts(replayed.stdout)].join('')).toBe([...texts(stdout)].join(''))
  })

  test('shows one step or one iteration', async () => {
    const cwd = project({ loud })
    await forkhestra(['./loud:3 -> ./loud'], { cwd })
    expect((await forkhestra(['logs', '--iteration', '2'], { cwd })).stdout).toStartWith(
      '[forkhestra] Iteration 2/3\nto stdout 2\nORCHESTRA_COMPLETE\nno end of line',
    )
    const second = await forkhestra(['logs', '--step', '2'], { cwd })
    expect(second.stdout).toContain('[forkhestra] Running: ./loud\nto stdout 1\n')
    expect(second.stdout).not.toContain('Iteration')
    expect(second.stdout).not.toContain('steps)')
  })

  test('shows the last lines, those since some time, and when they were printed', async () => {
    const cwd = project({ loud })
    await forkhestra(['./loud:3'], { cwd })
    const logs = async (...args: string[]) => {
      const { stdout, stderr } = await forkhestra(['logs', ...args], { cwd })
      return (stdout + stderr).trimEnd().split('\n')
    }
    expect(await logs('--tail', '0', '--raw')).toEqual([''])
    expect(await logs('--tail', '2')).toEqual(['', '[forkhestra] Chain complete (1/1 steps)'])
    expect(await logs('--tail', '3', '--raw')).toEqual((await logs('--raw')).slice(-3))
    expect(await logs('--tail', '1', '--json')).toEqual((await logs('--json')).slice(-1))
    const timed = await logs('--timestamps')
    expect(timed.filter((line) => !/^\d\d-\d\d \d\d:\d\d:\d\d(?: |$)/.test(line))).toEqual([])
    const untimed = timed.map((line) => line.slice(15))
    expect(untimed).toContain('to stdout 2')
    expect(untimed).toContain('[forkhestra] Iteration 2/3')
    expect(await logs('--since', '1ms')).toEqual([''])
    expect(await logs('--since', '1h')).toContain('to stdout 1')
    for (const args of [
      ['--timestamps', '--json'],
      ['--tail', 'x'],
      ['--since', 'x'],
    ])
      expect((await forkhestra(['logs', ...args], { cwd })).code).toBe(2)
  })

  test('follows a run from its last lines on', async () => {
    const cwd = project({ slow: sh('seq 50', SLOW_REST) })
    const run = new Running(['./slow'], { cwd })
    await until(() => eventsOf(cwd).includes('"bytes":147,'))
    const follower = new Running(['logs', '--follow', '--tail', '2'], { cwd })
    await follower.printed('ready')
    writeFileSync(join(cwd, 'go'), '')
    await run.finished
    const { stdout } = await follower.finished
    expect(stdout).toStartWith('50\nready\nend\n')
  })

  test('shows the results of tools, and failed ones in red on a terminal', async () => {
    const tool = (id: string) => ({
      type: 'assistant',
      message: { id, content: [{ type: 'tool_use', id, name: 'Bash', input: { command: id } }] },
    })
    const result = (id: string, content: unknown, isError = false) => ({
      type: 'user',
      message: {
        content: [{ type: 'tool_result', tool_use_id: id, is_error: isError, content }],
      },
    })
    const long = Array.from({ length: 12 }, (_, index) => `line ${index}`).join('\n')
    const events = [
      tool('one'),
      result('one', [{ type: 'text', text: long }]),
      tool('two'),
      result('two', 'it broke', true),
      { type: 'result', is_error: false },
    ]
    const configuration = { agents: { a: { systemPromptText: 'Go.' } }, chains: {} }
    const cwd = project({
      'forge/orch/chains.json': JSON.stringify(configuration),
      said: events.map((event) => `${JSON.stringify(event)}\n`).join(''),
      claude: sh('cat said'),
    })
    const env = { IS_SANDBOX: '1', USER: 'me' }
    await forkhestra(['a', '-p', 'Go'], { cwd, env })
    const logs = async (...args: string[]) => (await forkhestra(['logs', ...args], { cwd })).stdout
    expect(await logs()).toContain('[Bash] one\n[Bash] two\n[Bash] failed: it broke\n')
    expect(await logs('-v')).toContain(
      '  | line 9\n  | … 2 more lines (-vv shows all)\n[Bash] two\n',
    )
    expect(await logs('-vv')).toContain('  | line 10\n  | line 11\n[Bash] two\n')
    expect(await logs('-v')).toContain('[Bash] failed: it broke\n  | it broke\n')
    expect(await logs('--color', 'always')).toContain('\u001b[31m[Bash] failed: it broke\u001b[39m')
    expect(await logs('--timestamps', '-v')).toMatch(/^\d\d-\d\d \d\d:\d\d:\d\d {3}\| line 9$/m)
  })

  test('gives the raw bytes of both streams', async () => {
    const cwd = project({ raw: sh(`printf '\\377\\000\\001'`, `printf '\\376' >&2`) })
    await forkhestra(['./raw:2'], { cwd })
    const { stdout } = await shell('forkhestra logs --raw --iteration 2', cwd)
    expect([...stdout].toSorted((a, b) => a - b)).toEqual([0, 1, 254, 255])
  })

  test('shows what a structured agent said, and its stdout only raw', async () => {
    const cwd = project()
    const settings = { name: 'a', program: '/claude', systemPrompt: [], model: 'm', maxTurns: 1 }
    const agent = { engine: 'claude', ...settings }
    const more = { cwd, args: [], prompt: [], policy: DEFAULT_POLICY }
    const of = [{ kind: 'step', id: 's1', number: 1, agent, ...more }]
    const root = { kind: 'sequence', id: 'root', of }
    const plan = { run: 'r', cwd, root, recoveries: [], budget: {}, hooks: {} }
    begin(cwd, '20200101-000000-aaaaaa', { plan })
      .print('{"type":"assistant"}\n')
      .append({ type: 'message', ...AT(1), text: 'Hello' })
      .print('trouble\n', { stream: 'err' })
      .append(ended())
      .close()
    const { stdout, stderr } = await forkhestra(['logs', '--iteration', '1'], { cwd })
    expect(stdout).toBe('[forkhestra] Iteration 1/9\nHello\n')
    expect(stderr).toBe('trouble\n')
    const raw = await forkhestra(['logs', '--raw'], { cwd })
    expect(raw.stdout).toBe('{"type":"assistant"}\ntrouble\n')
  })

  test('says where output is missing from a record', async () => {
    const cwd = project()
    const record = begin(cwd, '20200101-000000-aaaaaa')
    for (let i = 0; i < 12; i++) record.print(Buffer.alloc(1024 * 1024, 97 + i))
    record.append(ended()).close()
    const { stdout, stderr } = await forkhestra(['logs', '--raw'], { cwd })
    expect(stderr).toBe('[forkhestra] 4 MiB missing from the record\n')
    expect(stdout.replaceAll(/(.)\1*/g, '$1')).toBe('abcdijkl')
  })

  test('shows the last output of a dead run, which no event reports', async () => {
    const cwd = project()
    const record = begin(cwd, '20200101-000000-aaaaaa').print('first\n').flush()
    record.append({ type: 'warning', text: 'careful' }).print('last words')
    rmSync(join(record.folder, 'lock'))
    const { stdout } = await forkhestra(['logs', '--raw'], { cwd })
    expect(stdout).toBe('first\nlast words')
    record.close()
  })

  test('follows until the run ends', async () => {
    const cwd = project({ slow: SLOW })
    const run = new Running(['./slow:2'], { cwd })
    await run.printed('begin 1')
    const logs = new Running(['logs', '--follow'], { cwd })
    await logs.printed('begin 1')
    writeFileSync(join(cwd, 'go'), '')
    const [seen, replayed] = await Promise.all([run.finished, logs.finished])
    expect(replayed).toEqual({ ...seen, code: 0 })
  })

  test('follows until the process of the run is dead, and says so', async () => {
    const cwd = project({ slow: SLOW })
    const run = new Running(['./slow:2'], { cwd })
    await run.printed('begin 1')
    const logs = new Running(['logs', '--follow', '--raw'], { cwd })
    await logs.printed('begin 1')
    run.signal('SIGKILL')
    await run.finished
    const { code, stderr } = await logs.finished
    expect(stderr).toContain('The process of this run is dead, and the run has not ended.')
    expect(stderr).toContain(`forkhestra resume ${idsOf(cwd)[0]}`)
    expect(code).toBe(1)
    writeFileSync(join(cwd, 'go'), '')
    const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'))
    while (isAlive(pid)) await Bun.sleep(10)
  })

  test('shows a run that was killed and resumed from start to end', async () => {
    const cwd = project({ slow: SLOW })
    const run = new Running(['./slow:1'], { cwd })
    await run.printed('begin 1')
    run.signal('SIGKILL')
    await run.finished
    const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'))
    writeFileSync(join(cwd, 'go'), '')
    while (isAlive(pid)) await Bun.sleep(10)
    await forkhestra(['resume'], { cwd })
    const { stdout } = await forkhestra(['logs', '--raw'], { cwd })
    expect(stdout).toBe('begin 1\nbegin 1\nend\n')
    expect(await json(['show'], cwd)).toMatchObject({
      status: 'failed',
      steps: [{ iterations: 1 }],
    })
  })

  test('leaves the run alone at Ctrl-C', async () => {
    const cwd = project({ slow: SLOW })
    const run = new Running(['./slow:2'], { cwd })
    await run.printed('begin 1')
    const logs = new Running(['logs', '--follow'], { cwd })
    await logs.printed('begin 1')
    logs.signal('SIGINT')
    expect((await logs.finished).code).toBe(130)
    writeFileSync(join(cwd, 'go'), '')
    expect((await run.finished).stdout).toContain('Not complete after 2 iterations')
  })

  test('ends quietly when its reader closes the pipe', async () => {
    const cwd = project({ loud })
    const record = begin(cwd, '20200101-000000-aaaaaa')
    for (let i = 0; i < 4; i++) record.print(Buffer.alloc(1024 * 1024, 'x\n'))
    record.append(ended()).close()
    const line = 'set -o pipefail; forkhestra logs --raw | head -n 1'
    const { code, stdout, stderr } = await shell(line, cwd)
    expect([code, Buffer.from(stdout).toString(), stderr]).toEqual([0, 'x\n', ''])
  })

  test('needs no more memory for a long run', async () => {
    const cwd = project()
    begin(cwd, '20200101-000000-aaaaaa').print('short').append(ended()).close()
    const long = begin(cwd, '20200102-000000-bbbbbb')
    for (let i = 1; i <= 20; i++) {
      long.append({ type: 'iteration_started', ...AT(i) })
      for (let j = 0; j < 4; j++) long.print(Buffer.alloc(1024 * 1024, 'x\n'), AT(i))
      for (let j = 0; j < 2000; j++)
        long.append({ type: 'message', ...AT(i), text: 'x'.repeat(500) })
      long.append(ended(AT(i)))
    }
    long.close()
    const peak = (id: string) => {
      const env = environment({ cwd })
      const child = Bun.spawnSync([FORKHESTRA, 'logs', id], { cwd, env, stdout: 'ignore' })
      return child.resourceUsage.maxRSS
    }
    expect(peak('bbbbb') - peak('aaaaa')).toBeLessThan(48 * 1024 * 1024)
  })
})

describe('cost', () => {
  test('adds up what runs cost', async () => {
    const cwd = project()
    const tokens = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }
    const usage = { costUsd: 0.5, billing: 'subscription', tokens }
    const at = '2020-01-01T10:00:00.000Z'
    begin(cwd, '20200101-000000-aaaaaa')
      .append(ended({ at, usage, tasks: ['t-1', 't-2'] } as object))
      .close()
    begin(cwd, '20200102-000000-bbbbbb')
      .append(ended({ at, usage } as object))
      .close()
    const rows = async (by: string) => {
      const { rows: found } = await json(['cost', '--by', by], cwd)
      return found.map(({ key, costUsd }: { key: string; costUsd: number }) => [key, costUsd])
    }
    expect(await rows('run')).toEqual([
      ['20200102-000000-bbbbbb', 0.5],
      ['20200101-000000-aaaaaa', 0.5],
    ])
    expect(await rows('agent')).toEqual([['builder', 1]])
    expect(await rows('step')).toEqual([['step 1: builder', 1]])
    expect(await rows('day')).toEqual([['2020-01-01', 1]])
    expect(await rows('task')).toEqual([
      ['(no task)', 0.5],
      ['t-1', 0.25],
      ['t-2', 0.25],
    ])
    expect((await json(['cost', 'aaaaa'], cwd)).total).toMatchObject({
      iterations: 1,
      costUsd: 0.5,
      subscriptionUsd: 0.5,
      tokens,
      ms: 60_000,
    })
    expect((await forkhestra(['cost', '--by', 'agent'], { cwd })).stdout).toBe(
      [
        'agent    iterations  input  output  cache read  cache write   time   cost',
        'builder           2      2       4           6            8  2 min  $1.00  API-equivalent',
        '',
        'API-equivalent: what the API would have charged; a subscription covers it.',
        '',
      ].join('\n'),
    )
  })

  test('has nothing to add up without records', async () => {
    expect(await output(['cost'], project())).toStartWith('No runs recorded in ')
  })
})

describe('clean', () => {
  const ids = ['20200101-000000-aaaaaa', '20200102-000000-bbbbbb', '20200103-000000-cccccc']

  test('keeps the newest runs and active ones', async () => {
    const cwd = project()
    const driven = begin(cwd, ids[0]!)
    for (const id of ids.slice(1)) begin(cwd, id).close()
    expect((await forkhestra(['clean', '--keep', '1', '--dry-run'], { cwd })).stdout).toBe(
      `would be removed: ${ids[1]}\n1 run would be removed\n`,
    )
    expect(idsOf(cwd)).toHaveLength(3)
    expect(await json(['clean', '--keep', '1'], cwd)).toMatchObject({ removed: [ids[1]] })
    expect(idsOf(cwd).toSorted()).toEqual([ids[0]!, ids[2]!])
    driven.close()
    expect((await forkhestra(['clean', '--keep', '0'], { cwd })).stdout).toEndWith(
      '2 runs removed\n',
    )
    expect(await output(['clean', '--keep', '0'], cwd)).toStartWith('Nothing to remove')
  })
})

describe('stop and retry-now', () => {
  test('stop lets the iteration finish', async () => {
    const cwd = project({ slow: SLOW })
    const run = new Running(['./slow:9'], { cwd })
    await run.printed('begin 1')
    expect(await output(['stop'], cwd)).toBe(
      'Run <id> will stop after iteration 1/9 of step 1, ./slow.\n',
    )
    writeFileSync(join(cwd, 'go'), '')
    const { stdout } = await run.finished
    expect(stdout).toContain('begin 1\nend\n')
    expect(stdout).not.toContain('begin 2')
    expect(await json(['show'], cwd)).toMatchObject({ status: 'stopped' })
  })

  test('stop --now interrupts the iteration', async () => {
    const cwd = project({ slow: SLOW })
    const run = new Running(['./slow:9'], { cwd })
    await run.printed('begin 1')
    expect(await json(['stop', '--now'], cwd)).toMatchObject({
      ok: true,
      asked: 'stop-now',
      step: 1,
      iteration: 1,
    })
    const { code, stdout } = await run.finished
    expect([code, stdout.includes('end\n')]).toEqual([130, false])
  })

  test('retry-now sends a request to a waiting run', async () => {
    const cwd = project()
    const record = begin(cwd, '20200101-000000-aaaaaa').flush()
    const early = await forkhestra(['retry-now', 'aaaaa'], { cwd })
    expect([early.code, early.stderr]).toEqual([
      1,
      '[forkhestra] Error: Run 20200101-000000-aaaaaa is not waiting, it is running.\n',
    ])
    record.append(ended({ again: true }), WAITING).flush()
    expect(await output(['retry-now'], cwd)).toBe(
      'Run <id>: wait cancelled, retrying iteration 1/9 of step 1, builder.\n',
    )
    expect(existsSync(join(record.folder, 'asked-retry-now'))).toBe(true)
    record.close()
  })

  test.each([
    ['stop', 'No active run in this project.'],
    ['retry-now', 'No waiting run in this project.'],
  ])('%s says so if the run is not active', async (command, words) => {
    const cwd = project()
    begin(cwd, '20200101-000000-aaaaaa').close()
    const { code, stderr } = await forkhestra([command], { cwd })
    expect(code).toBe(1)
    expect(stderr).toContain(words)
    const named = await forkhestra([command, 'aaaaa'], { cwd })
    expect(named.code).toBe(1)
    expect(named.stderr).toContain('it is dead.\n  Resume it: forkhestra resume ')
  })

  test('a process that reuses the pid of a dead one is left alone', async () => {
    const cwd = project()
    const record = begin(cwd, '20200101-000000-aaaaaa').close()
    const bystander = Bun.spawn(['sleep', '60'])
    const identity = `${bystander.pid}:1:4026531836@0@0`
    const holder = { pid: bystander.pid, identity, since: '2020-01-01T00:00:00.000Z' }
    writeFileSync(join(record.folder, 'lock'), JSON.stringify(holder))
    const { code } = await forkhestra(['stop', '--now'], { cwd })
    expect([code, isAlive(bystander.pid)]).toEqual([1, true])
    bystander.kill()
    await bystander.exited
  })
})
