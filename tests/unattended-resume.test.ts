import { expect, test } from 'bun:test'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, reasonsIn, runChain, toldBy, turnsIn, type Ran } from './support/chains.ts'
import { forkhestra, Running } from './support/forkhestra.ts'
import { makeProject, sh } from './support/project.ts'
import { ofType, runsOf } from './support/record.ts'
import { MadeRecord, RECORDS } from './support/records.ts'
import { fileIn } from './support/until.ts'

/** Says that it is done as soon as there is a file `go`. */
const AGENT = sh('echo "in $PWD"', '[ -e go ] && echo ORCHESTRA_COMPLETE', 'exit 0')

const project = (step: object = {}) =>
  makeChain([{ agent: 'agent', iterations: 2, ...step }, { agent: 'last' }], {
    agent: AGENT,
    last: sh('echo last'),
  })
const CONFIGURATION = 'forge/orch/chains.json'

async function resume(cwd: string, ...args: string[]): Promise<Ran> {
  return toldBy(await forkhestra(['resume', ...args], { cwd }), cwd)
}

const go = (cwd: string) => writeFileSync(join(cwd, 'go'), '')

test('where no iteration is left, a new round begins', async () => {
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

test('a single run that failed runs once more, and what is done is not done again', async () => {
  const cwd = makeChain([{ agent: 'first' }, { agent: 'second' }], {
    first: sh('echo first >> calls'),
    second: sh('echo second >> calls', '[ -e go ]'),
  })
  expect((await runChain(cwd)).code).toBe(1)
  go(cwd)
  expect((await resume(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'calls'), 'utf8')).toBe('first\nsecond\nsecond\n')
})

test('a run that is complete stays as it is, and that is no mistake', async () => {
  const cwd = project()
  go(cwd)
  const { run, events } = await runChain(cwd)
  for (const args of [[], [run]]) {
    const { code, stdout, stderr, events: after } = await resume(cwd, ...args)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toBe(
      `[forkhestra] The run ${run} is complete: there is nothing to go on with.\n`,
    )
    expect(after).toEqual([...events])
  }
})

test('a run is found by the beginning of its id; none and several are refused', async () => {
  const cwd = project()
  const { run } = await runChain(cwd)
  const other = `${run.slice(0, -1)}${run.endsWith('2') ? '3' : '2'}`
  new MadeRecord(cwd, other).close()
  const several = await forkhestra(['resume', run.slice(0, 8)], { cwd })
  expect(several.code).toBe(2)
  expect(several.stderr).toContain(`Several runs are called '${run.slice(0, 8)}'.`)
  expect(several.stderr).toContain(run)
  const none = await forkhestra(['resume', 'moon'], { cwd })
  expect(none.code).toBe(2)
  expect(none.stderr).toContain("There is no run 'moon'.")
  const nothing = await forkhestra(['resume'], { cwd: makeProject({ 'forge/keep': '' }) })
  expect(nothing.code).toBe(2)
  expect(nothing.stderr).toContain('There is no run yet.')
  rmSync(join(cwd, RECORDS, other), { recursive: true })
  go(cwd)
  expect((await resume(cwd, run.slice(0, 8))).code).toBe(0)
})

test.each([
  [
    'changed',
    'has changed since',
    (path: string) => writeFileSync(path, '{"chains":{"c":{"steps":[{"agent":"x"}]}}}'),
  ],
  [
    'gone',
    `can no longer be used (Configuration not found: ${CONFIGURATION})`,
    (path: string) => rmSync(path),
  ],
  [
    'broken',
    `can no longer be used (${CONFIGURATION}:1:2  '}' is missing.)`,
    (path: string) => writeFileSync(path, '{'),
  ],
])(
  'that the configuration is %s is said, and the recorded plan is carried out',
  async (_, words, change) => {
    const cwd = project()
    await runChain(cwd)
    go(cwd)
    change(join(cwd, CONFIGURATION))
    const { code, stderr } = await resume(cwd)
    expect(stderr).toContain(
      `Warning: ${CONFIGURATION} ${words}; the run goes on with the plan that it was started with\n`,
    )
    expect(code).toBe(0)
  },
)

test('limits of the command line hold from then on, and are recorded', async () => {
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

test('time that is spent is spent, until more is given', async () => {
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

test('from another folder --cwd finds the run, and it goes on where it was', async () => {
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

test('a project that was moved is refused with the folder that is gone', async () => {
  const cwd = project()
  await runChain(cwd)
  const moved = join(makeProject(), 'moved')
  renameSync(cwd, moved)
  const { code, stdout, stderr } = await forkhestra(['resume'], { cwd: moved })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(cwd)
})

test('runs of other folders are not meant where nobody says which', async () => {
  const state = makeProject()
  const env = { XDG_STATE_HOME: state }
  const files = { agent: sh('touch there', 'while [ ! -e go ]; do sleep 0.02; done') }
  const [cwd, elsewhere] = [makeProject(files), makeProject()]
  const running = new Running(['agent'], { cwd, env })
  await fileIn(cwd, 'there')
  const stop = await forkhestra(['stop', '--now'], { cwd: elsewhere, env })
  expect(stop.code).toBe(1)
  expect(stop.stderr).toContain('No run is under way')
  expect((await forkhestra(['stop', '--now'], { cwd, env })).code).toBe(0)
  expect((await running.finished).code).toBe(130)
  const resumed = await forkhestra(['resume'], { cwd: elsewhere, env })
  expect({ code: resumed.code, stdout: resumed.stdout }).toEqual({ code: 2, stdout: '' })
  go(cwd)
  expect((await forkhestra(['resume'], { cwd, env })).code).toBe(0)
})

/** Makes the record of a run look like one of another version. */
function rewrite(cwd: string, change: (text: string) => string): void {
  const folder = join(cwd, RECORDS, runsOf(cwd)[0]!)
  for (const name of ['plan.json', 'events.ndjson']) {
    const path = join(folder, name)
    writeFileSync(path, change(readFileSync(path, 'utf8')))
  }
  rmSync(join(folder, 'checkpoint.json'), { force: true })
}

test('the plan of another version is carried out with a word about it, or refused', async () => {
  const cwd = project()
  await runChain(cwd)
  rewrite(cwd, (text) => text.replaceAll(/"version":"[^"]+"/g, '"version":"9.9.9"'))
  go(cwd)
  const { code, stderr } = await resume(cwd)
  expect(stderr).toContain('Warning: the run was begun by forkhestra 9.9.9\n')
  expect(code).toBe(0)
  const strange = project()
  await runChain(strange)
  rewrite(strange, (text) =>
    text.replaceAll('"root":', '"trunk":').replaceAll('"version":"', '"version":"9'),
  )
  const refused = await resume(strange)
  expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 2, stdout: '' })
  expect(refused.stderr).toContain('was made by forkhestra 9')
})

test('a step that failed while the chain went on is tried again, and what came behind it is not', async () => {
  const cwd = makeChain(
    [{ agent: 'first', onFail: 'continue' }, { agent: 'second' }, { agent: 'third' }],
    {
      first: sh('echo first >> calls', '[ -e go ]'),
      second: sh('echo second >> calls'),
      third: sh('echo third >> calls', '[ $(grep -c third calls) -ge 2 ]'),
    },
  )
  expect((await runChain(cwd)).code).toBe(1)
  // It goes on where it ended; what had failed before comes when there is nothing else to do.
  expect((await resume(cwd)).code).toBe(1)
  go(cwd)
  const { code, stdout } = await resume(cwd)
  expect(stdout).toContain(' at step 1, iteration 1\n')
  expect(stdout).toEndWith('[forkhestra] Pipeline complete (3/3 steps)\n')
  expect(code).toBe(0)
  expect(readFileSync(join(cwd, 'calls'), 'utf8')).toBe('first\nsecond\nthird\nthird\nfirst\n')
})

test('the condition of a chain that was stopped is asked again', async () => {
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

test('an agent that mends is not asked twice where the run was stopped behind it', async () => {
  const cwd = makeChain([{ agent: 'bad', onFail: { run: 'mender' } }, { agent: 'bad' }], {
    bad: sh('echo bad >> calls', '[ -e go ]'),
    mender: sh('echo mender >> calls'),
  })
  expect((await runChain(cwd)).code).toBe(1)
  expect((await resume(cwd)).code).toBe(1)
  go(cwd)
  expect((await resume(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'calls'), 'utf8').split('\n').join(' ')).toBe(
    'bad mender bad mender bad bad ',
  )
})
