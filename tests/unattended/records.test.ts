import { expect, test } from 'bun:test'
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { executeChain } from 'forkhestra'
import {
  makeChain,
  reasonsIn,
  runChain,
  startChain,
  withRecord,
  turnsIn,
} from '../support/chains.ts'
import { environment, FORKHESTRA, forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles, type Files } from '../support/project.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { MadeRecord, RECORDS } from '../support/records.ts'
import { fileIn } from '../support/until.ts'

/** Prints the marker in the second iteration. */
const SECOND = sh('[ $FORKHESTRA_ITERATION = 2 ] && echo ORCHESTRA_COMPLETE', 'exit 0')

/** A chain with checks, so that the record contains more than output. */
const project = () =>
  makeChain(
    [{ agent: 'agent', iterations: 3, verify: 'true' }, { agent: 'noisy' }],
    { agent: SECOND, noisy: sh('yes | head -c 2000000 | tr -d "\\n"; echo "the end"') },
    { hooks: { afterRun: 'cat > /dev/null' } },
  )

/** Runs a script with forge/ on a separate file system, which is removed with the script. */
async function withForgeOn(options: string, script: string, files: Files = {}) {
  const cwd = project()
  writeFiles(cwd, files)
  const env = environment({ cwd })
  const mount = `cp -r forge kept && mount -t tmpfs -o ${options} none forge && cp -r kept/. forge || exit 99`
  const child = Bun.spawn(['unshare', '-rm', 'sh', '-c', `${mount}\n${script}`], {
    cwd,
    env: { ...env, PATH: `${dirname(FORKHESTRA)}:${env['PATH']}` },
    stdin: 'ignore',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  return { stdout, stderr, code, cwd }
}

const LOST = /^\[forkhestra\] Warning: the run continues without a record: (EROFS|ENOSPC).*\n$/

test('on a read-only file system a run continues without a record and warns once', async () => {
  const { code, stdout, stderr } = await withForgeOn(
    'size=1m',
    'mount -o remount,ro forge && forkhestra --chain c',
  )
  expect(stderr).toMatch(LOST)
  expect(stdout).toEndWith('[forkhestra] Chain complete (2/2 steps)\n')
  expect(code).toBe(0)
})

test('on a full disk a run continues without a record', async () => {
  const script =
    'cat /dev/zero > forge/fill 2>/dev/null; forkhestra --chain c; code=$?; rm -f forge/fill; forkhestra runs > /dev/null && exit $code'
  const { code, stdout, stderr } = await withForgeOn('size=256k', script)
  expect(stderr).toMatch(LOST)
  expect(stdout).toContain('the end\n')
  expect(stdout).toEndWith('[forkhestra] Chain complete (2/2 steps)\n')
  expect(code).toBe(0)
})

test('a record on a full disk has gaps, but contains the end of the run', async () => {
  const { code, stdout, stderr } = await withForgeOn(
    'size=256k',
    'forkhestra --chain c; code=$?; forkhestra runs; forkhestra resume; exit $code',
  )
  const [behind, gaps, nothing, ...more] = stderr.trimEnd().split('\n')
  expect(behind).toMatch(
    /Warning: the record cannot be written at the moment: ENOSPC.* The run continues/,
  )
  expect(gaps).toMatch(
    /Warning: the record is incomplete because .*ENOSPC.*: receipts or some output are missing/,
  )
  expect(nothing).toContain('is complete: nothing to resume')
  expect(more).toEqual([])
  expect(stdout).toContain('the end\n')
  expect(stdout).toMatch(/ {2}complete {2}/)
  expect(code).toBe(0)
})

/** Fills the disk in its first iteration, and is done in the third. */
const FILLER = sh(
  '[ -e forge/fill ] || head -c 600000 /dev/zero >forge/fill 2>/dev/null',
  'echo "at $FORKHESTRA_ITERATION" >>turns',
  'cat talk 2>/dev/null',
  '[ $FORKHESTRA_ITERATION = 3 ] && { [ -e free ] && rm forge/fill; echo ORCHESTRA_COMPLETE; }',
  'exit 0',
)

test.each([
  ['stays full', ''],
  ['has room again in the end', 'touch free'],
  ['has room again after more output than can be kept', 'touch free; yes | head -c 200000 >talk'],
])('a run on a disk that %s can still complete', async (_, prepare) => {
  const script = [
    prepare,
    'forkhestra ./filler:5 >out 2>err || exit 1',
    'rm -f forge/fill; forkhestra runs; forkhestra resume >>out 2>&1; forkhestra show --step 1 --iteration 3; forkhestra show',
  ].join('\n')
  const { code, stdout, cwd } = await withForgeOn('size=300k', script, { filler: FILLER })
  expect(stdout).toMatch(/ {2}complete {2}/)
  expect(stdout).toContain('marker')
  expect(stdout).toMatch(/\n +1 .* exit 0\n +2 .* exit 0\n +3 .* marker\n/)
  expect(code).toBe(0)
  expect(readFileSync(join(cwd, 'turns'), 'utf8')).toBe('at 1\nat 2\nat 3\n')
})

test('the newest 50 of 52 runs are kept, however they ended', async () => {
  const cwd = makeProject({ agent: sh('true') })
  const ids = Array.from(
    { length: 51 },
    (_, n) => `20200101-0000${String(n).padStart(2, '0')}-aaaaaa`,
  )
  for (const id of ids) new MadeRecord(cwd, id).close()
  await forkhestra(['agent'], { cwd })
  const kept = runsOf(cwd)
  expect(kept).toHaveLength(50)
  expect(kept.slice(0, -1)).toEqual(ids.slice(2))
  const others = readdirSync(join(cwd, RECORDS)).filter((name) => name.startsWith('.'))
  expect(others.toSorted()).toEqual(['.at-work', '.gitignore'])
})

test('after the clock was set back, new runs are still the newest, and the last to be removed', async () => {
  const cwd = makeProject({ agent: sh('exit 3') })
  for (let n = 0; n < 51; n++)
    new MadeRecord(cwd, `29900101-0000${String(n).padStart(2, '0')}-aaaaaa`).close()
  await forkhestra(['agent'], { cwd })
  const newest = runsOf(cwd).at(-1)!
  expect((await forkhestra(['show'], { cwd })).stdout).toContain(`Run ${newest}: failed`)
  await forkhestra(['push', 'agent=agent', 'name=a', 'Begin'], { cwd })
  expect((await forkhestra(['queue', '--json'], { cwd })).stdout).toContain(`"run":"${newest}"`)
  await forkhestra(['true'], { cwd })
  expect(runsOf(cwd).at(-2)).toBe(newest)
})

test.each(['events.ndjson', 'lock', 'plan.json', 'checkpoint.json', 'signature'])(
  'a huge sparse %s from an archive keeps no run from starting',
  async (file) => {
    const cwd = makeProject()
    const made = new MadeRecord(cwd, '20200101-000000-aaaaaa')
    made.append({ type: 'run_ended', ok: true, exitCode: 0, leftovers: [] }).close()
    writeFiles(made.folder, { [file]: '' })
    truncateSync(join(made.folder, file), 2 ** 40)
    expect((await forkhestra(['true'], { cwd })).code).toBe(0)
    const all = await forkhestra(['runs'], { cwd })
    expect([all.code, all.stdout]).toEqual([0, expect.stringContaining('complete  true')])
    expect((await forkhestra(['clean', '--keep', '0'], { cwd })).code).toBe(0)
  },
)

test('two runs in one project with --anyway have separate records', async () => {
  const cwd = makeChain([{ agent: 'agent' }], {
    agent: sh('touch "$FORKHESTRA_RUN_ID.there"', 'while [ ! -e go ]; do sleep 0.02; done'),
  })
  const both = [1, 2].map(() => startChain(cwd, { args: ['--anyway'] }))
  const there = () => readdirSync(cwd).filter((name) => name.endsWith('.there'))
  while (there().length < 2) await Bun.sleep(5)
  writeFileSync(join(cwd, 'go'), '')
  const codes = await Promise.all(both.map(async ({ finished }) => (await finished).code))
  expect(codes).toEqual([0, 0])
  expect(runsOf(cwd).map((run) => `${run}.there`)).toEqual(there().toSorted())
  for (const run of runsOf(cwd)) expect(reasonsIn(journalOf(cwd, run))).toEqual(['single_run'])
})

/** A run that was stopped in its second iteration. */
async function stopped() {
  const cwd = makeChain([{ agent: 'agent', iterations: 3 }], {
    agent: sh(
      '[ $FORKHESTRA_ITERATION = 2 ] && [ ! -e there ] && touch there && sleep 300',
      '[ $FORKHESTRA_ITERATION = 3 ] && echo ORCHESTRA_COMPLETE',
      'exit 0',
    ),
  })
  const running = startChain(cwd)
  await fileIn(cwd, 'there')
  running.signal('SIGTERM')
  const { run, events } = withRecord(await running.finished, cwd)
  expect(turnsIn(events)).toEqual(['1.1 exited', '1.2 interrupted again'])
  const folder = join(cwd, RECORDS, run)
  return { cwd, run, folder, journal: join(folder, 'events.ndjson') }
}

const AFTER = ['1.1 exited', '1.2 interrupted again', '1.2 exited', '1.3 marker']

test.each([
  ['a line that is cut off', '{"type":"iteration_star'],
  ['a line of zeros', '\0'.repeat(5000)],
  ['a line that is not an event', '42\n'],
  ['an event without its newline', '{"type":"warning","text":"x","seq":99}'],
])('a run can be resumed with %s at the end of its journal', async (_, rest) => {
  const { cwd, run, journal } = await stopped()
  appendFileSync(journal, rest)
  const shown = await forkhestra(['runs'], { cwd })
  expect(shown.stdout).toContain(`${run}  stopped`)
  const { code } = await forkhestra(['resume'], { cwd })
  expect({ code, turns: turnsIn(journalOf(cwd, run)) }).toEqual({ code: 0, turns: AFTER })
})

test('unknown events of a later version are ignored', async () => {
  const { cwd, run, journal } = await stopped()
  const known = journalOf(cwd, run)
  const { at } = known[0]!
  const seq = known.at(-1)!.seq! + 1
  const later = { type: 'moon_phase', at, run, seq, worker: 'w-x', step: 1, phase: 'full' }
  appendFileSync(journal, `${JSON.stringify(later)}\n`)
  for (const view of [['runs'], ['show', run], ['logs', run], ['logs', run, '--json'], ['cost']]) {
    const { code, stderr } = await forkhestra(view, { cwd })
    expect({ view, code }).toEqual({ view, code: 0 })
    expect(stderr).not.toContain('Error')
  }
  expect((await forkhestra(['runs'], { cwd })).stdout).toContain(`${run}  stopped`)
  const { code } = await forkhestra(['resume', run], { cwd })
  const events = journalOf(cwd, run)
  expect({ code, turns: turnsIn(events) }).toEqual({ code: 0, turns: AFTER })
  expect(ofType(events, 'run_resumed')[0]?.seq).toBe(seq + 1)
})

test('a journal without its beginning is reported as broken', async () => {
  const { cwd, run, folder, journal } = await stopped()
  truncateSync(journal, 0)
  writeFileSync(join(folder, 'checkpoint.json'), '{"form":')
  expect((await forkhestra(['runs'], { cwd })).stdout).toContain(run)
  for (const args of [
    ['resume', run],
    ['show', run],
    ['logs', run],
    ['stop', run],
  ]) {
    const { code, stderr } = await forkhestra(args, { cwd })
    expect({ args, isRefused: code !== 0 }).toEqual({ args, isRefused: true })
    expect(stderr).toStartWith(`[forkhestra] Error: The record of run ${run} cannot be read.`)
  }
})

test('a damaged line is reported, and a complete step does not run again', async () => {
  const steps = [{ agent: 'first' }, { agent: 'second' }]
  const cwd = makeChain(steps, {
    first: sh('echo ran >>first.txt'),
    second: sh('[ -e free ]'),
  })
  const { run } = await runChain(cwd)
  const folder = join(cwd, 'forge/orch/runs', run)
  const path = join(folder, 'events.ndjson')
  const lines = readFileSync(path, 'utf8').split('\n')
  const at = lines.findIndex((line) => line.startsWith('{"type":"step_ended"'))
  const { seq } = JSON.parse(lines[at]!) as { seq: number }
  writeFileSync(path, lines.with(at, '{garbage').join('\n'))
  rmSync(join(folder, 'checkpoint.json'))
  const words = `the record is damaged: event ${seq} is missing`
  expect((await forkhestra(['show', run], { cwd })).stdout).toContain(`  ${words}\n`)
  writeFileSync(join(cwd, 'free'), '')
  const { code, stdout, stderr } = await forkhestra(['resume', run], { cwd })
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining(`Warning: ${words}. The run continues`),
  ])
  expect(stdout).toContain(`Resuming run ${run} at step 2, iteration 1\n`)
  expect(readFileSync(join(cwd, 'first.txt'), 'utf8')).toBe('ran\n')
})

test('deleting the caches of a record changes nothing', async () => {
  const { cwd, run, folder } = await stopped()
  for (const name of ['checkpoint.json', 'plan.json']) {
    expect(existsSync(join(folder, name))).toBe(true)
    writeFileSync(join(folder, name), '\0\0')
  }
  const { code } = await forkhestra(['resume'], { cwd })
  expect({ code, turns: turnsIn(journalOf(cwd, run)) }).toEqual({ code: 0, turns: AFTER })
})

test('the library keeps no record', async () => {
  const cwd = makeProject({ agent: sh('exit 0'), 'forge/keep': '' })
  const { success } = await executeChain({
    steps: [{ agent: './agent', iterations: 1, loop: false }],
    cwd,
  })
  expect(success).toBe(true)
  expect(runsOf(cwd)).toEqual([])
  expect(readdirSync(join(cwd, 'forge'))).toEqual(['keep'])
})
