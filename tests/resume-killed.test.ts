import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../src/events/schema.ts'
import { forkhestra, Running, type Finished } from './support/forkhestra.ts'
import { makeProject, sh } from './support/project.ts'
import { journalOf, ofType, runsOf } from './support/record.ts'

// Every trial starts the same chain, kills forkhestra with SIGKILL at a random moment, resumes it,
// kills that, and so on; whatever happened in between, the run has to come to the same end.

const TRIALS = 240
const AT_ONCE = 4
const MOST_KILLS = 4

/** Says the marker in the iteration that is its argument; all it knows is in its environment. */
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
  failing: [loop(2, 1), once, loop(3, 9, { onFail: 'continue' }), loop(2, 2), loop(2, 9), once],
}

function makeTrial(): string {
  const chains = Object.fromEntries(
    Object.entries(CHAINS).map(([name, steps]) => [name, { steps }]),
  )
  return makeProject({
    worker: WORKER,
    // Whether it was there before, the events of the run alone can say.
    checker: sh(
      'rounds=$(grep -c \'"type":"jump"\' "forge/orch/runs/$FORKHESTRA_RUN_ID/events.ndjson")',
      '[ "$rounds" -ge 1 ]',
    ),
    'forge/orch/chains.json': JSON.stringify({ chains }),
  })
}

/** What a run has come to, without what may differ: times, attempts, and who wrote it. */
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
    jumps: ofType(events, 'jump').map(({ step, to, count }) => ({ step, to, count })),
    ended: ofType(events, 'run_ended').map(({ ok, exitCode }) => ({ ok, exitCode })),
  }
}

async function killed(running: Running, withinMs: number): Promise<Finished> {
  await Bun.sleep(Math.random() * withinMs)
  running.signal('SIGKILL')
  return running.finished
}

/** The exit code that the record of the first run tells, if it has ended. */
function endOf(cwd: string): number | undefined {
  const [run = ''] = runsOf(cwd)
  return ofType(journalOf(cwd, run), 'run_ended')[0]?.exitCode
}

/** One run with kills in between; the record of it at the end. */
async function disturb(
  chain: string,
  withinMs: number,
): Promise<{ code: number; cwd: string; run: string; kills: number }> {
  const cwd = makeTrial()
  const kills = 1 + Math.floor(Math.random() * MOST_KILLS)
  const env = { FORKHESTRA_TRIAL: chain }
  await killed(new Running(['--chain', chain], { cwd, env }), withinMs)
  for (let count = 1; count < kills && endOf(cwd) === undefined; count += 1) {
    await killed(new Running(['resume', '--kill-orphans'], { cwd, env }), withinMs)
  }
  const [run] = runsOf(cwd)
  const hasPlan = run !== undefined && ofType(journalOf(cwd, run), 'run_started').length > 0
  if (!hasPlan) return disturb(chain, withinMs * 1.2)
  // The last kill may have come after the end.
  const exitCode = endOf(cwd)
  if (exitCode !== undefined) return { code: exitCode, cwd, run, kills }
  const { code, stderr } = await forkhestra(['resume', run, '--kill-orphans'], { cwd, env })
  if (code === 2) throw new Error(`${chain} in ${cwd}: ${stderr}`)
  return { code, cwd, run, kills }
}

test.each(Object.keys(CHAINS))(
  'a chain (%s) that is killed at any moment comes to the same end as one that is not',
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
        // Beside others everything takes longer, and a moment after the end disturbs nothing.
        const trial = await disturb(chain, tookMs * 1.5)
        const events = journalOf(trial.cwd, trial.run)
        expect({ ...essence(events), code: trial.code }).toEqual({ ...expected, code })
        const numbers = events.flatMap(({ seq }) => (seq === undefined ? [] : [seq]))
        expect(numbers).toEqual(numbers.map((_, index) => index + 1))
        kills += trial.kills
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    expect(kills).toBeGreaterThanOrEqual(TRIALS / Object.keys(CHAINS).length)
  },
  300_000,
)

test('of two that resume the same run one goes on, and the other says who does', async () => {
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
  expect(loser.stderr).toMatch(/The run \S+ is carried out by process \d+ since /)
  writeFileSync(join(cwd, 'go'), '')
  const codes = await Promise.all(both.map(async ({ finished }) => (await finished).code))
  expect(codes.toSorted((a, b) => a - b)).toEqual([0, 1])
})

test('what a dead run has left running is named, and ended before it goes on', async () => {
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
  expect(refused.stderr).toContain('has left running: ')
  expect(refused.stderr).toContain('--kill-orphans')
  const beside = await forkhestra(['true'], { cwd })
  expect(beside.stderr).toContain('is dead and has left running: ')
  const { code, stdout, stderr } = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(stderr).toContain('ended what the run')
  expect(stdout).toContain('Complete after 1 iteration\n')
  expect(code).toBe(0)
})
