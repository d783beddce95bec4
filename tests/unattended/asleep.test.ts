import { expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventOf } from '../../src/records/events/event.ts'
import { makeChain, reasonsIn, startChain, withRecord, turnsIn } from '../support/chains.ts'
import { Running } from '../support/forkhestra.ts'
import { openNative } from '../support/native.ts'
import { sh } from '../support/project.ts'
import { makeQueueProject, RUN, tasksOf } from '../support/queue.ts'
import { ofType } from '../support/record.ts'
import { fileIn, until } from '../support/until.ts'

// Tests can only suspend forkhestra with SIGSTOP; src/base/awake.test.ts covers a sleeping machine.

/** Much longer than the work of an agent, and shorter than a suspension. */
const LIMIT_S = 10
const LIMIT = `${LIMIT_S}s`
const STOP_MS = 11_000

/** The last output of an agent whose limit is reset in a moment. */
const LIMITED = `echo "Claude AI usage limit reached|$(($(date +%s) + ${LIMIT_S}))"`

/**
 * Reports its start, and continues only after forkhestra has been suspended. The pause lets overdue
 * timers of forkhestra fire first.
 */
const WAIT = 'touch begun; until [ -e go ]; do sleep 0.05; done; sleep 0.5'
const DONE = 'echo ORCHESTRA_COMPLETE'
/** Prints while forkhestra is suspended. */
const SPEAK = 'touch begun; until [ -e stopped ]; do sleep 0.05; done; echo speaking'

/** Suspends forkhestra, but not its agents, for longer than any limit here. */
async function stopAwhile(running: Running, cwd: string): Promise<void> {
  running.signal('SIGSTOP')
  writeFileSync(join(cwd, 'stopped'), '')
  await Bun.sleep(STOP_MS)
  running.signal('SIGCONT')
  writeFileSync(join(cwd, 'go'), '')
}

async function stopOnceBegun(running: Running, cwd: string) {
  await fileIn(cwd, 'begun')
  await stopAwhile(running, cwd)
  return withRecord(await running.finished, cwd)
}

interface Case {
  readonly step?: object
  readonly chain?: object
  readonly agent?: string
}

const PROOF = 'touch proof'

const CASES: Readonly<Record<string, Case>> = {
  timeout: { step: { timeout: LIMIT } },
  idleTimeout: { step: { idleTimeout: LIMIT } },
  'idleTimeout, with output in the pipe': {
    step: { idleTimeout: LIMIT },
    agent: `${SPEAK}; until [ -e go ]; do sleep 0.05; done; sleep 0.5; ${PROOF}; ${DONE}`,
  },
  'maxDuration of the step': { step: { maxDuration: LIMIT } },
  'maxDuration of the run': { chain: { maxDuration: LIMIT } },
  'the time for a gate': { step: { timeout: LIMIT, verify: `${WAIT}; ${PROOF}` }, agent: DONE },
  'the budget for a gate': {
    step: { maxDuration: LIMIT, verify: `${WAIT}; ${PROOF}` },
    agent: DONE,
  },
  'the time for a hook': {
    step: { timeout: LIMIT, hooks: { afterIteration: `${WAIT}; ${PROOF}` } },
    agent: DONE,
  },
  'the time after the marker': {
    step: { grace: { marker: LIMIT } },
    agent: `${DONE}; ${WAIT}; ${PROOF}`,
  },
}

async function runCase({ step, chain, agent = `${WAIT}; ${PROOF}; ${DONE}` }: Case) {
  const cwd = makeChain([{ agent: 'agent', iterations: 3, ...step }], { agent: sh(agent) }, chain)
  const { code, events } = await stopOnceBegun(startChain(cwd), cwd)
  const [end] = ofType(events, 'step_ended') as [EventOf<'step_ended'>]
  return {
    code,
    turns: turnsIn(events),
    isWhole: existsSync(join(cwd, 'proof')),
    isStopUncounted: end.spent!.ms < STOP_MS,
  }
}

test('time in which forkhestra is suspended does not count against any limit', async () => {
  const all = Object.entries(CASES).map(async ([name, each]) => [name, await runCase(each)])
  const fine = { code: 0, turns: ['1.1 marker'], isWhole: true, isStopUncounted: true }
  const expected = Object.keys(CASES).map((name) => [name, fine])
  expect(await Promise.all(all)).toEqual(expected)
})

test('after a suspension, limits still apply', async () => {
  const step = { agent: 'agent', timeout: '4s' }
  const cwd = makeChain([step], { agent: sh('touch begun', 'exec tail -f /dev/null') })
  const { code, events } = await stopOnceBegun(startChain(cwd), cwd)
  expect([code, reasonsIn(events)]).toEqual([1, ['timeout']])
  const [{ ms, at }] = ofType(events, 'iteration_ended') as [EventOf<'iteration_ended'>]
  expect(ms).toBeGreaterThanOrEqual(4000)
  expect(ms).toBeLessThan(STOP_MS)
  const [started] = ofType(events, 'step_started')
  expect(Date.parse(at) - Date.parse(started!.at)).toBeGreaterThanOrEqual(3900 + STOP_MS)
})

test('a queued task keeps its time limit, and its worker keeps the task', async () => {
  const prompt = [
    `/push name=t timeout=${LIMIT_S} '${WAIT}; echo fine'`,
    '/run',
    'forkhestra receive',
  ].join('\n')
  const cwd = makeQueueProject(prompt)
  const { code, events } = await stopOnceBegun(new Running(RUN, { cwd }), cwd)
  expect(code).toBe(0)
  expect(ofType(events, 'task_ended')).toMatchObject([{ task: 't', success: true }])
})

test('the built-in agent and its commands keep their time limits', async () => {
  const bash = { tool: { name: 'bash', input: { command: WAIT, timeout: LIMIT_S } } }
  const configuration = {
    chains: { c: { steps: [{ agent: 'nat', prompt: 'Go', timeout: LIMIT }] } },
  }
  await using stage = await openNative([bash, { text: 'Fine.' }], { configuration })
  const { code, events } = await stopOnceBegun(stage.start('--chain', 'c'), stage.cwd)
  expect([code, turnsIn(events)]).toEqual([0, ['1.1 exited']])
  const [ended] = ofType(events, 'tool_ended')
  expect(ended?.error).toBeUndefined()
})

/** The time from the end of a suspension, in which the limit was reset, to the first event of this type. */
async function continuedAfter(
  running: Running,
  cwd: string,
  { words, type }: { readonly words: string; readonly type: 'waited' | 'message' },
) {
  await until(() => running.stderr.includes(words))
  await stopAwhile(running, cwd)
  const continued = Date.now()
  const { code, events } = withRecord(await running.finished, cwd)
  const [event] = ofType(events, type).filter(({ at }) => Date.parse(at) >= continued)
  return { code, ms: Date.parse(event!.at) - continued }
}

test('a wait ends at once if the limit was reset during a suspension', async () => {
  const agent = failing(LIMITED, 1)
  const cwd = makeChain([{ agent: 'agent', iterations: 3 }], { agent })
  const env = { ANTHROPIC_API_KEY: 'a-key' }
  await using stage = await openNative([{ limit: LIMIT }, { text: 'Fine.' }], { env })
  const [run, native] = await Promise.all([
    continuedAfter(startChain(cwd), cwd, { words: 'Waiting for the limit', type: 'waited' }),
    continuedAfter(stage.start('nat', '-p', 'Go'), stage.cwd, {
      words: 'retrying the request in',
      type: 'message',
    }),
  ])
  expect([run.code, native.code]).toEqual([0, 0])
  expect(Math.max(run.ms, native.ms)).toBeLessThan(LIMIT_S * 1000 - 1000)
})

test('a task is retried if its limit was reset during a suspension', async () => {
  const work = `[ -e asked ] && exit 0; touch asked; ${LIMITED}; exit 1`
  const cwd = makeQueueProject(`/push name=t '${work}'\n/run\nforkhestra receive`)
  const running = new Running(RUN, { cwd })
  await until(() => running.stderr.includes('waiting for the limit'))
  await stopAwhile(running, cwd)
  await running.finished
  const [task] = await tasksOf(cwd)
  expect(task).toMatchObject({ attempt: 2, end: { success: true } })
})

/** Fails with this output until it has been called this often. */
function failing(words: string, times: number): string {
  return sh(
    'echo x >>tries; nth=$(wc -l <tries | tr -d " ")',
    `[ $nth -gt ${times} ] && { ${DONE}; exit 0; }`,
    words,
    'exit 1',
  )
}

test('maxWait includes suspended time, the retry time does not', async () => {
  const kinds = {
    quota: {
      agent: failing(LIMITED, 2),
      policy: { maxWait: `${2 * LIMIT_S}s` },
      why: 'Waiting for the limit',
    },
    marker: {
      agent: failing("echo 'API Error: 529 Overloaded'", 2),
      policy: { retry: { for: LIMIT, backoff: '1s' } },
      why: 'temporarily unavailable',
    },
  }
  const reasons = Object.values(kinds).map(async ({ agent, policy, why }) => {
    const cwd = makeChain([{ agent: 'agent', iterations: 3, ...policy }], { agent })
    const running = startChain(cwd)
    await until(() => running.stderr.includes(why) || running.stdout.includes(why))
    await stopAwhile(running, cwd)
    return reasonsIn(withRecord(await running.finished, cwd).events)
  })
  expect(await Promise.all(reasons)).toEqual([['quota'], ['marker']])
})
