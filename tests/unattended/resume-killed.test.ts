import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../../src/records/events/schema.ts'
import { forkhestra, Running, type Finished } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { SEED, withSeed } from '../support/random.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'

// Every trial starts the same chain, kills forkhestra with SIGKILL at a random moment, resumes it,
// kills that, and so on; whatever happened in between, the run has to end in the same way.

const TRIALS = 240
const AT_ONCE = 4
const MOST_KILLS = 4

/** Prints the marker in the iteration given by its argument; it knows only its environment. */
const WORKER = sh(
  'echo "step $FORKHESTRA_STEP iteration $FORKHESTRA_ITERATION"',
  'echo "$FORKHESTRA_STEP $FORKHESTRA_ITERATION" >> done.txt',
  '[ "$FORKHESTRA_ITERATION" = "$1" ] && echo ORCHESTRA_COMPLETE',
  'exit 0',
)

const loop = (iterations: number, doneIn: number, more = {}) => ({
  agent: 'worker',
  iterations,
  args: [String(doneIn)],
  ...more,
})
const once = { agent: 'worker', args: ['0'] }

/** Fails in the first round of its step and succeeds in the second. */
const ROUNDS = { agent: 'checker', onFail: { goto: 'build', times: 2 } }

const CHAINS: Record<string, readonly unknown[]> = {
  plain: [loop(3, 2), loop(4, 4), once, loop(2, 1), loop(5, 3), once],
  gated: [
    loop(3, 2, { verify: 'true' }),
    loop(3, 1, {
      verify: 'test "$FORKHESTRA_ITERATION" -ge 2',
      until: 'test "$FORKHESTRA_ITERATION" -ge 2',
    }),
    { ...once, when: 'false' },
    loop(4, 9, { until: 'test "$FORKHESTRA_ITERATION" = 3' }),
    { ...once, hooks: { beforeStep: 'cat > /dev/null', afterStep: 'true' } },
    loop(2, 2),
  ],
  back: [once, loop(3, 2, { name: 'build' }), once, loop(2, 1), ROUNDS, once],
  groups: [
    {
      sequence: [loop(2, 1), { agent: 'third', iterations: 1 }],
      iterations: 4,
    },
    {
      fallback: [
        { agent: 'fails' },
        { sequence: [once, { fallback: [{ agent: 'fails' }, loop(2, 2)] }] },
        once,
      ],
    },
    { sequence: [{ agent: 'fails' }, once], iterations: 2, onFail: 'continue' },
    once,
  ],
  failing: [loop(2, 1), once, loop(3, 9, { onFail: 'continue' }), loop(2, 2), loop(2, 9), once],
}

function makeTrial(): string {
  const chains = Object.fromEntries(
    Object.entries(CHAINS).map(([name, steps]) => [name, { steps }]),
  )
  return makeProject({
    worker: WORKER,
    fails: sh('exit 3'),
    /** Completes in the third round of its group. */
    third: sh('case "$FORKHESTRA_SCOPE" in g1/r3/*) echo ORCHESTRA_COMPLETE;; esac', 'exit 0'),
    // Only the events of the run show whether it was there before.
    checker: sh(
      'rounds=$(grep -c \'"type":"jump"\' "forge/orch/runs/$FORKHESTRA_RUN_ID/events.ndjson")',
      '[ "$rounds" -ge 1 ]',
    ),
    'forge/orch/chains.json': JSON.stringify({ chains }),
  })
}

/** The result of a run without what may differ: times, attempts and workers. */
function essence(events: readonly RunEvent[]) {
  return {
    steps: ofType(events, 'step_ended').map(({ step, round, reason, iterations, failures }) => ({
      step,
      round,
      reason,
      iterations,
      failures,
    })),
    iterations: ofType(events, 'iteration_ended')
      .filter(({ again }) => again !== true)
      .map(({ step, round, iteration, outcome, ends }) => ({
        step,
        round,
        iteration,
        outcome,
        ends,
      })),
    groups: ofType(events, 'group_ended').map(({ group, scope, round, reason }) => ({
      group,
      scope,
      round,
      reason,
    })),
    jumps: ofType(events, 'jump').map(({ step, to, count }) => ({ step, to, count })),
    ended: ofType(events, 'run_ended').map(({ ok, exitCode }) => ({ ok, exitCode })),
  }
}

async function killed(running: Running, afterMs: number): Promise<Finished> {
  await Bun.sleep(afterMs)
  running.signal('SIGKILL')
  return running.finished
}

/** The exit code in the record of the first run, if it has ended. */
function endOf(cwd: string): number | undefined {
  const [run = ''] = runsOf(cwd)
  return ofType(journalOf(cwd, run), 'run_ended')[0]?.exitCode
}

/** Runs a chain with kills in between, and returns its record. */
async function disturb(
  chain: string,
  withinMs: number,
  random: () => number,
): Promise<{ code: number; cwd: string; run: string; kills: number }> {
  const cwd = makeTrial()
  const kills = 1 + Math.floor(random() * MOST_KILLS)
  const env = { FORKHESTRA_TRIAL: chain }
  await killed(new Running(['--chain', chain], { cwd, env }), random() * withinMs)
  for (let count = 1; count < kills && endOf(cwd) === undefined; count += 1) {
    const resumed = new Running(['resume', '--kill-orphans'], { cwd, env })
    await killed(resumed, random() * withinMs)
  }
  const [run] = runsOf(cwd)
  const hasPlan = run !== undefined && ofType(journalOf(cwd, run), 'run_started').length > 0
  if (!hasPlan) return disturb(chain, withinMs * 1.2, random)
  // The last kill may have come after the end.
  const exitCode = endOf(cwd)
  if (exitCode !== undefined) return { code: exitCode, cwd, run, kills }
  const { code, stderr } = await forkhestra(['resume', run, '--kill-orphans'], { cwd, env })
  if (code === 2) throw new Error(`${chain} in ${cwd}: ${stderr}`)
  return { code, cwd, run, kills }
}

test.each(Object.keys(CHAINS))(
  'a chain (%s) that is killed at any moment and resumed ends as if it was not',
  async (chain) => {
    const calm = makeTrial()
    const began = performance.now()
    const { code } = await forkhestra(['--chain', chain], { cwd: calm })
    const tookMs = performance.now() - began
    const expected = essence(journalOf(calm, runsOf(calm)[0]!))
    expect(expected.ended).toEqual([{ ok: code === 0, exitCode: code }])
    let left = TRIALS / Object.keys(CHAINS).length
    let kills = 0
    const work = async () => {
      while (left-- > 0) {
        await withSeed(SEED + left, async (random) => {
          // Parallel tests make everything slower, and a kill after the end is harmless.
          const trial = await disturb(chain, tookMs * 1.5, random)
          const events = journalOf(trial.cwd, trial.run)
          expect({ ...essence(events), code: trial.code }).toEqual({ ...expected, code })
          const numbers = events.flatMap(({ seq }) => (seq === undefined ? [] : [seq]))
          expect(numbers).toEqual(numbers.map((_, index) => index + 1))
          kills += trial.kills
        })
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    expect(kills).toBeGreaterThanOrEqual(TRIALS / Object.keys(CHAINS).length)
  },
  300_000,
)

test('only one of two resumes of the same run continues it, and the other names it', async () => {
  const cwd = makeProject({
    worker: sh(
      'echo started >> starts',
      'while [ ! -e go ]; do sleep 0.02; done',
      'echo ORCHESTRA_COMPLETE',
    ),
    'forge/.keep': '',
  })
  const first = new Running(['worker:2'], { cwd })
  await first.printed('Iteration 1/2')
  first.signal('SIGKILL')
  await first.finished
  const both = ['one', 'two'].map(() => new Running(['resume', '--kill-orphans'], { cwd }))
  const loser = await Promise.race(both.map(({ finished }) => finished))
  expect(loser.code).toBe(1)
  expect(loser.stderr).toMatch(
    /Run \S+ is already running \((?:process \d+, since |another process)/,
  )
  writeFileSync(join(cwd, 'go'), '')
  const codes = await Promise.all(both.map(async ({ finished }) => (await finished).code))
  expect(codes.toSorted((a, b) => a - b)).toEqual([0, 1])
})

test('processes left by a dead run are listed, and ended before a resume', async () => {
  const cwd = makeProject({
    worker: sh(
      'echo $$ > pid',
      'if [ -e seen ]; then echo ORCHESTRA_COMPLETE; exit; fi',
      'touch seen',
      'sleep 300',
    ),
    'forge/.keep': '',
  })
  const first = new Running(['worker:2'], { cwd })
  await first.printed('Iteration 1/2')
  while (!(await Bun.file(join(cwd, 'seen')).exists())) await Bun.sleep(10)
  first.signal('SIGKILL')
  await first.finished
  const refused = await forkhestra(['resume'], { cwd })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('left these processes running: ')
  expect(refused.stderr).toContain('--kill-orphans')
  for (const look of ['runs', 'status', 'show']) {
    const { stdout: shown } = await forkhestra([look], { cwd })
    expect(shown).toMatch(/forkhestra resume \S+ --kill-orphans/)
  }
  const another = await forkhestra(['true'], { cwd })
  expect(another).toMatchObject({ code: 2, stdout: '' })
  expect(another.stderr).toMatch(
    /Run (\S+) is dead and left these processes running: .*\(pid \d+\).*\n  They would interfere with the new run. Kill them: add --kill-orphans\n  Or continue the dead run: forkhestra resume \1 --kill-orphans\n  Or start anyway: add --anyway\n/,
  )
  const beside = await forkhestra(['true', '--anyway'], { cwd })
  expect(beside.code).toBe(0)
  expect(beside.stderr).toContain('is dead and left these processes running: ')
  const { code, stdout, stderr } = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(stderr).toContain('killed the processes that run')
  expect(stdout).toContain('Complete after 1 iteration\n')
  expect(code).toBe(0)
})

test('the task of an agent that outlived its run stays claimed until the agent is gone', async () => {
  const cwd = makeProject({
    worker: sh(
      'if [ -e seen ]; then forge-tasks next --claim --plain | grep id:; echo ORCHESTRA_COMPLETE; exit; fi',
      'forge-tasks next --claim > /dev/null',
      'touch seen',
      'exec sleep 300',
    ),
    'forge/.keep': '',
  })
  const tasks = (...args: string[]) => forkhestra(['tasks', ...args], { cwd })
  await tasks('create', 'Only once')
  const first = new Running(['worker:2'], { cwd })
  while (!(await Bun.file(join(cwd, 'seen')).exists())) await Bun.sleep(10)
  first.signal('SIGKILL')
  await first.finished
  expect((await tasks('next', '--claim', '--as', 'another')).code).toBe(1)
  expect((await tasks('view', '1')).stdout).toContain('status: In Progress')
  const { stdout } = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(stdout).toContain('id: TASK-001')
})
