import { expect, test } from 'bun:test'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Origins } from '../../src/records/journal/origins.ts'
import { readPlan } from '../../src/records/journal/read-run.ts'
import {
  makeChain,
  reasonsIn,
  runChain,
  startChain,
  withRecord,
  turnsIn,
  type Ran,
} from '../support/chains.ts'
import { environment, forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { ofType, runsOf } from '../support/record.ts'
import { MadeRecord, RECORDS } from '../support/records.ts'
import { fileIn, until } from '../support/until.ts'

/** Prints the marker as soon as there is a file `go`. */
const AGENT = sh('echo "in $PWD"', '[ -e go ] && echo ORCHESTRA_COMPLETE', 'exit 0')

const project = (step: object = {}) =>
  makeChain([{ agent: 'agent', iterations: 2, ...step }, { agent: 'last' }], {
    agent: AGENT,
    last: sh('echo last'),
  })
const CONFIGURATION = 'forge/orch/chains.json'

async function resume(cwd: string, ...args: string[]): Promise<Ran> {
  return withRecord(await forkhestra(['resume', ...args], { cwd }), cwd)
}

const go = (cwd: string) => writeFileSync(join(cwd, 'go'), '')

test('resume begins a new round if no iteration is left', async () => {
  const cwd = project()
  expect(reasonsIn((await runChain(cwd)).events)).toEqual(['max_iterations', 'skipped'])
  const again = await resume(cwd)
  expect(again.code).toBe(1)
  expect(again.stdout).toContain(`Resuming run ${again.run} at step 1, iteration 1\n`)
  expect(again.stdout).toContain('Starting: agent (max 2 iterations, 2nd time)\n')
  go(cwd)
  const { code, stdout, events } = await resume(cwd)
  expect(code).toBe(0)
  expect(stdout).toEndWith('[forkhestra] Chain complete (2/2 steps)\n')
  expect(turnsIn(events)).toEqual([
    '1.1 exited',
    '1.2 exited',
    '1r2.1 exited',
    '1r2.2 exited',
    '1r3.1 marker',
    '2.1 exited',
  ])
})

test('resume repeats a failed single run, but no complete steps', async () => {
  const cwd = makeChain([{ agent: 'first' }, { agent: 'second' }], {
    first: sh('echo first >> calls'),
    second: sh('echo second >> calls', '[ -e go ]'),
  })
  expect((await runChain(cwd)).code).toBe(1)
  go(cwd)
  expect((await resume(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'calls'), 'utf8')).toBe('first\nsecond\nsecond\n')
})

test('resume leaves a complete run unchanged and succeeds', async () => {
  const cwd = project()
  go(cwd)
  const { run, events } = await runChain(cwd)
  for (const args of [[], [run]]) {
    const { code, stdout, stderr, events: after } = await resume(cwd, ...args)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toBe(`[forkhestra] Run ${run} is complete: nothing to resume.\n`)
    expect(after).toEqual([...events])
  }
})

test('resume finds a run by an unambiguous prefix of its id', async () => {
  const cwd = project()
  const { run } = await runChain(cwd)
  const other = `${run.slice(0, -1)}${run.endsWith('2') ? '3' : '2'}`
  new MadeRecord(cwd, other).close()
  const several = await forkhestra(['resume', run.slice(0, 8)], { cwd })
  expect(several.code).toBe(2)
  expect(several.stderr).toContain(`Several runs match '${run.slice(0, 8)}'.`)
  expect(several.stderr).toContain(run)
  const none = await forkhestra(['resume', 'moon'], { cwd })
  expect(none.code).toBe(2)
  expect(none.stderr).toContain("No run matches 'moon'.")
  const nothing = await forkhestra(['resume'], { cwd: makeProject({ 'forge/keep': '' }) })
  expect(nothing.code).toBe(2)
  expect(nothing.stderr).toContain('There are no runs yet.')
  rmSync(join(cwd, RECORDS, other), { recursive: true })
  go(cwd)
  expect((await resume(cwd, run.slice(0, 8))).code).toBe(0)
})

test.each([
  [
    'changed',
    'has changed since the run started',
    (path: string) => writeFileSync(path, '{"chains":{"c":{"steps":[{"agent":"x"}]}}}'),
  ],
  [
    'gone',
    `can no longer be used (Configuration not found: ${CONFIGURATION})`,
    (path: string) => rmSync(path),
  ],
  [
    'broken',
    `can no longer be used (${CONFIGURATION}:1:2  missing '}'.)`,
    (path: string) => writeFileSync(path, '{'),
  ],
])(
  'resume warns if the configuration is %s, and uses the recorded plan',
  async (_, words, change) => {
    const cwd = project()
    await runChain(cwd)
    go(cwd)
    change(join(cwd, CONFIGURATION))
    const { code, stderr } = await resume(cwd)
    expect(stderr).toContain(
      `Warning: ${CONFIGURATION} ${words}; the run continues with its original plan\n`,
    )
    expect(code).toBe(0)
  },
)

test('limits given to a resume apply from then on and are recorded', async () => {
  const cwd = project({ iterations: 9, stall: 2 })
  expect(reasonsIn((await runChain(cwd)).events)).toEqual(['stalled', 'skipped'])
  const second = await resume(cwd, '--stall', '3', '--max-cost', '7', '--verify', 'test -e go')
  expect(turnsIn(second.events)).toHaveLength(5)
  const { plan } = ofType(second.events, 'run_resumed')[0]!
  expect(plan).toMatchObject({
    budget: { costUsd: 7 },
    root: { of: [{ policy: { stall: 3, verify: ['test -e go'] } }, {}] },
  })
  const third = await resume(cwd)
  expect(turnsIn(third.events)).toHaveLength(8)
  expect(ofType(third.events, 'run_resumed')[1]?.plan).toMatchObject({ budget: { costUsd: 7 } })
})

test('spent time stays spent until a resume gives more', async () => {
  const step = { agent: 'slow', iterations: 2 }
  const slow = sh('[ -e go ] && echo ORCHESTRA_COMPLETE && exit', 'sleep 60')
  for (const [steps, chain] of [
    [[step], { maxDuration: '300ms' }],
    [[{ ...step, maxDuration: '300ms' }], {}],
  ] as const) {
    const cwd = makeChain(steps, { slow }, chain)
    expect(reasonsIn((await runChain(cwd)).events)).toEqual(['budget'])
    go(cwd)
    expect(reasonsIn((await resume(cwd)).events)).toEqual(['budget', 'budget'])
    const { code, events } = await resume(cwd, '--max-duration', '1h')
    expect({ code, reason: reasonsIn(events).at(-1) }).toEqual({ code: 0, reason: 'marker' })
  }
})

test('--cwd resumes a run from another folder', async () => {
  const cwd = project()
  await runChain(cwd)
  go(cwd)
  const { code, stdout } = await forkhestra(['resume', '--cwd', cwd], {
    cwd: makeProject(),
    env: { PATH: `${cwd}:${process.env['PATH']}`, XDG_STATE_HOME: join(cwd, '.state') },
  })
  expect(stdout).toContain(`in ${cwd}\n`)
  expect(code).toBe(0)
})

test('resume refuses a moved project and names the missing folder', async () => {
  const cwd = project()
  await runChain(cwd)
  const moved = join(makeProject(), 'moved')
  renameSync(cwd, moved)
  const { code, stdout, stderr } = await forkhestra(['resume'], { cwd: moved })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(cwd)
})

test('resume without an id ignores runs of other folders', async () => {
  const state = makeProject()
  const env = { XDG_STATE_HOME: state }
  const files = { agent: sh('touch there', 'while [ ! -e go ]; do sleep 0.02; done') }
  const [cwd, elsewhere] = [makeProject(files), makeProject()]
  const running = new Running(['agent'], { cwd, env })
  await fileIn(cwd, 'there')
  const stop = await forkhestra(['stop', '--now'], { cwd: elsewhere, env })
  expect(stop.code).toBe(1)
  expect(stop.stderr).toContain('No active run in this project')
  expect((await forkhestra(['stop', '--now'], { cwd, env })).code).toBe(0)
  expect((await running.finished).code).toBe(130)
  const resumed = await forkhestra(['resume'], { cwd: elsewhere, env })
  expect({ code: resumed.code, stdout: resumed.stdout }).toEqual({ code: 2, stdout: '' })
  go(cwd)
  expect((await forkhestra(['resume'], { cwd, env })).code).toBe(0)
})

/** Changes the record of a run to one of another version. */
function rewrite(cwd: string, change: (text: string) => string): void {
  const folder = join(cwd, RECORDS, runsOf(cwd)[0]!)
  for (const name of ['plan.json', 'events.ndjson']) {
    const path = join(folder, name)
    writeFileSync(path, change(readFileSync(path, 'utf8')))
  }
  rmSync(join(folder, 'checkpoint.json'), { force: true })
}

test('resume warns about the plan of another version, or refuses it', async () => {
  const cwd = project()
  await runChain(cwd)
  rewrite(cwd, (text) => text.replaceAll(/"version":"[^"]+"/g, '"version":"9.9.9"'))
  go(cwd)
  const { code, stderr } = await resume(cwd)
  expect(stderr).toContain('Warning: the run was started by forkhestra 9.9.9\n')
  expect(code).toBe(0)
  const strange = project()
  await runChain(strange)
  rewrite(strange, (text) =>
    text.replaceAll('"root":', '"trunk":').replaceAll('"version":"', '"version":"9'),
  )
  const record = join(strange, RECORDS, runsOf(strange)[0]!)
  new Origins(environment({ cwd: strange })).sign(record, readPlan(record)?.plan)
  const refused = await resume(strange)
  expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 2, stdout: '' })
  expect(refused.stderr).toContain('was made by forkhestra 9')
})

test('resume retries a failed step, but not complete steps after it', async () => {
  const cwd = makeChain(
    [{ agent: 'first', onFail: 'continue' }, { agent: 'second' }, { agent: 'third' }],
    {
      first: sh('echo first >> calls', '[ -e go ]'),
      second: sh('echo second >> calls'),
      third: sh('echo third >> calls', '[ $(grep -c third calls) -ge 2 ]'),
    },
  )
  expect((await runChain(cwd)).code).toBe(1)
  // It continues where it ended, and retries earlier failures last.
  expect((await resume(cwd)).code).toBe(1)
  go(cwd)
  const { code, stdout } = await resume(cwd)
  expect(stdout).toContain(' at step 1, iteration 1\n')
  expect(stdout).toEndWith('[forkhestra] Pipeline complete (3/3 steps)\n')
  expect(code).toBe(0)
  expect(readFileSync(join(cwd, 'calls'), 'utf8')).toBe('first\nsecond\nthird\nthird\nfirst\n')
})

test('resume checks the condition of a stopped chain again', async () => {
  const cwd = makeChain(
    [{ agent: 'agent' }],
    { agent: sh('touch done') },
    { when: 'touch there; [ -e go ] || sleep 60' },
  )
  const running = new Running(['--chain', 'c'], { cwd })
  await fileIn(cwd, 'there')
  running.signal('SIGTERM')
  expect((await running.finished).code).toBe(143)
  go(cwd)
  const { code, events } = await resume(cwd)
  expect({ code, reasons: reasonsIn(events) }).toEqual({
    code: 0,
    reasons: ['skipped', 'single_run'],
  })
})

test('resume does not run a recovery agent twice', async () => {
  const cwd = makeChain([{ agent: 'bad', onFail: { run: 'fixer' } }, { agent: 'bad' }], {
    bad: sh('echo bad >> calls', '[ -e go ]'),
    fixer: sh('echo fixer >> calls'),
  })
  expect((await runChain(cwd)).code).toBe(1)
  expect((await resume(cwd)).code).toBe(1)
  go(cwd)
  expect((await resume(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'calls'), 'utf8').split('\n').join(' ')).toBe(
    'bad fixer bad fixer bad bad ',
  )
})

test('work before a power failure counts for the time of the run', async () => {
  const agent = sh('echo $$ >pid', 'while :; do echo tick; sleep 0.25; done')
  const cwd = makeChain([{ agent: 'agent' }], { agent })
  const running = startChain(cwd, { args: ['--max-duration', '10s'] })
  await until(() => running.stdout.split('tick').length > 17)
  running.signal('SIGKILL')
  process.kill(-Number(readFileSync(join(cwd, 'pid'), 'utf8')), 'SIGKILL')
  await running.finished
  const { stdout } = await forkhestra(['show', '--json'], { cwd })
  expect((JSON.parse(stdout) as { spent: { ms: number } }).spent.ms).toBeGreaterThan(1000)
  const resumed = withRecord(await forkhestra(['resume'], { cwd }), cwd)
  expect(reasonsIn(resumed.events)).toEqual(['budget'])
  const lostMs = ofType(resumed.events, 'run_resumed')[0]!.lostMs!
  expect(lostMs).toBeGreaterThan(1000)
  const spentMs = ofType(resumed.events, 'run_ended')[0]!.spent!.ms
  expect(spentMs).toBeGreaterThan(9900)
  // After the resume, the limit was not granted once more.
  expect(spentMs - lostMs).toBeLessThan(10_000)
})

test('changes from before the run are not counted as changes of a resumed one', async () => {
  const done = { id: '1', content: [{ type: 'text', text: 'ORCHESTRA_COMPLETE' }] }
  const cwd = makeProject({
    '.gitignore': '.state\n.config\n',
    claude: sh(
      'echo x >>page.md',
      `[ -e go ] && echo '${JSON.stringify({ type: 'assistant', message: done })}'`,
      `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'`,
    ),
    [CONFIGURATION]: JSON.stringify({
      agents: { w: { systemPromptText: 'You write.' } },
      chains: { c: { steps: [{ agent: 'w', iterations: 1 }] } },
    }),
  })
  const env = { IS_SANDBOX: '1' }
  const git = (...args: string[]) => Bun.spawnSync(['git', ...args], { cwd })
  git('init', '-q')
  git('add', '-A')
  git('-c', 'user.name=Me', '-c', 'user.email=me@example.org', 'commit', '-qm', 'First')
  writeFileSync(join(cwd, 'notes.md'), 'mine')
  await runChain(cwd, { env })
  writeFileSync(join(cwd, '.git/info/exclude'), 'go\n')
  writeFileSync(join(cwd, 'go'), '')
  const { code, stderr } = await forkhestra(['resume'], { cwd, env })
  expect([code, stderr]).toEqual([0, expect.stringContaining('uncommitted changes in 1 file\n')])
})
