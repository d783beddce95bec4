import { expect, test } from 'bun:test'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, reasonsIn, startChain, withRecord } from '../support/chains.ts'
import { forkhestra, Running, survivors } from '../support/forkhestra.ts'
import { sh } from '../support/project.ts'
import { ofType } from '../support/record.ts'
import { fileIn, until } from '../support/until.ts'

/** Continues when there is a file `go`. */
const HOLD = 'touch there; while [ ! -e go ]; do sleep 0.02; done'

/** What a run is doing when it is stopped, and where a resume continues. */
interface Place {
  /** Lines of the agent of the first step. */
  readonly lines: readonly string[]
  readonly step: object
  /** After it was let finish, and after it was broken off. */
  readonly next: readonly [finished: string, broken: string]
}

const SAYS_SO = ['echo ORCHESTRA_COMPLETE']
const SECOND = ['[ $FORKHESTRA_ITERATION = 2 ] && echo ORCHESTRA_COMPLETE', 'exit 0']

const PLACES: Readonly<Record<string, Place>> = {
  'an iteration': {
    lines: [HOLD, ...SECOND],
    step: {},
    next: ['step 1, iteration 2', 'step 1, iteration 1'],
  },
  'a check': {
    lines: SAYS_SO,
    step: { verify: HOLD },
    next: ['step 2, iteration 1', 'step 1, iteration 1'],
  },
  until: {
    lines: ['exit 0'],
    step: { until: HOLD },
    next: ['step 2, iteration 1', 'step 1, iteration 1'],
  },
  when: {
    lines: SAYS_SO,
    step: { when: HOLD },
    next: ['step 1, iteration 1', 'step 1, iteration 1'],
  },
  beforeStep: {
    lines: SAYS_SO,
    step: { hooks: { beforeStep: HOLD } },
    next: ['step 1, iteration 1', 'step 1, iteration 1'],
  },
  afterIteration: {
    lines: SECOND,
    step: { hooks: { afterIteration: HOLD } },
    next: ['step 1, iteration 2', 'step 1, iteration 2'],
  },
  afterStep: {
    lines: SAYS_SO,
    step: { hooks: { afterStep: HOLD } },
    next: ['step 2, iteration 1', 'step 2, iteration 1'],
  },
  onWait: {
    lines: ['[ -e go ] && echo ORCHESTRA_COMPLETE && exit', 'echo "API Error: 529"', 'exit 1'],
    step: { retry: { for: '2h', backoff: '1h', maxBackoff: '1h' }, hooks: { onWait: HOLD } },
    next: ['step 1, iteration 1', 'step 1, iteration 1'],
  },
  'a wait': {
    lines: [
      '[ -e go ] && echo ORCHESTRA_COMPLETE && exit',
      'echo "Claude AI usage limit reached|$(($(date +%s) + 3600))"',
      'exit 1',
    ],
    step: { hooks: { onWait: 'echo . >> there' } },
    next: ['step 1, iteration 1', 'step 1, iteration 1'],
  },
}

function begin({ lines, step }: Place): { readonly cwd: string; readonly running: Running } {
  const cwd = makeChain([{ agent: 'worker', iterations: 3, ...step }, { agent: 'last' }], {
    worker: sh(...lines),
    last: sh('touch done'),
  })
  return { cwd, running: startChain(cwd) }
}

/** Removes the obstacle and lets the run complete. */
async function goOn(cwd: string, place: string): Promise<string> {
  letGo(cwd)
  const before = waitsIn(cwd)
  const resumed = new Running(['resume'], { cwd })
  if (place === 'a wait') {
    // The limit still applies until retry-now.
    await until(() => waitsIn(cwd) > before)
    expect((await forkhestra(['retry-now'], { cwd })).code).toBe(0)
  }
  const { code, stdout } = await resumed.finished
  expect(stdout).toEndWith('[forkhestra] Chain complete (2/2 steps)\n')
  expect(code).toBe(0)
  return /Resuming run \S+ at (.*)/.exec(stdout)?.[1] ?? ''
}

/** A stop may come before the hook has written anything. */
const waitsIn = (cwd: string) => statSync(join(cwd, 'there'), { throwIfNoEntry: false })?.size ?? 0

const letGo = (cwd: string) => writeFileSync(join(cwd, 'go'), '')

type Stop = (running: Running, cwd: string) => unknown

const BREAKING: readonly (readonly [name: string, code: number, stop: Stop])[] = [
  ['stop --now', 130, (_, cwd) => forkhestra(['stop', '--now'], { cwd })],
  ['Ctrl-C', 130, (running) => running.signal('SIGINT')],
  ['SIGTERM', 143, (running) => running.signal('SIGTERM')],
]

const CASES = Object.keys(PLACES).flatMap((place) =>
  BREAKING.map(([name, code, stop]) => [name, place, code, stop] as const),
)

test.each(CASES)('%s during %s interrupts it', async (_, place, code, stop) => {
  const { cwd, running } = begin(PLACES[place]!)
  await fileIn(cwd, 'there')
  await stop(running, cwd)
  const ran = withRecord(await running.finished, cwd)
  expect(ran.code).toBe(code)
  expect(survivors()).toEqual([])
  expect(reasonsIn(ran.events).at(-1)).toBe('skipped')
  expect(ran.stderr).toContain(`To resume: forkhestra resume ${ran.run}`)
  expect(ofType(ran.events, 'run_ended')).toMatchObject([{ ok: false, exitCode: code }])
  expect(await goOn(cwd, place)).toBe(PLACES[place]!.next[1])
})

test.each(Object.keys(PLACES))('stop during %s lets it finish', async (place) => {
  const { cwd, running } = begin(PLACES[place]!)
  await fileIn(cwd, 'there')
  const stopped = await forkhestra(['stop'], { cwd })
  expect(stopped.code).toBe(0)
  if (place !== 'a wait') letGo(cwd)
  const ran = withRecord(await running.finished, cwd)
  expect({ code: ran.code, reason: reasonsIn(ran.events).at(-1) }).toEqual({
    code: 1,
    reason: 'skipped',
  })
  expect(ran.stdout).toContain('stopped by forkhestra stop')
  expect(await goOn(cwd, place)).toBe(PLACES[place]!.next[0])
})

const DEAF = "trap '' INT TERM; touch there; while :; do sleep 0.1; done"

test.each<[string, readonly string[], object]>([
  ['an iteration', [DEAF], {}],
  ['a check', SAYS_SO, { verify: DEAF }],
  ['a hook', SAYS_SO, { hooks: { beforeStep: DEAF } }],
])('a second Ctrl-C kills a process that ignores the first during %s', async (_, lines, step) => {
  // Whatever waits for the end of this grace fails.
  const grace = { term: '1h' }
  const { cwd, running } = begin({ lines, step: { ...step, grace }, next: ['', ''] })
  await fileIn(cwd, 'there')
  running.signal('SIGINT')
  await until(() => running.stderr.includes('press Ctrl-C again to kill it now'))
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  expect(survivors()).toEqual([])
})

test('a stop during the end of the last step changes nothing', async () => {
  const cwd = makeChain([{ agent: 'worker' }], { worker: sh(HOLD) })
  const running = startChain(cwd)
  await fileIn(cwd, 'there')
  await forkhestra(['stop'], { cwd })
  letGo(cwd)
  const { code, stdout } = await running.finished
  expect({ code, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
    code: 0,
    last: '[forkhestra] Pipeline complete (1/1 steps)',
  })
})
