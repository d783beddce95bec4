import { expect, test } from 'bun:test'
import { makeStamp, type EventBody } from '../records/events/event.ts'
import type { Outcome, Reason } from '../records/events/schema.ts'
import { Paper } from '../../tests/support/paper.ts'
import { PlainView } from './plain.ts'

const stamp = makeStamp('r1', 'w-1')
const encode = (text: string) => Buffer.from(text)

type Item = EventBody | string

/** A string is what the agent prints. */
function render(items: readonly Item[], verbose = false): string {
  const paper = new Paper()
  const view = new PlainView(paper, verbose)
  for (const each of items) {
    if (typeof each !== 'string') view.show(stamp(each))
    else void view.output({ ...at(1, 1), stream: 'out', bytes: encode(each) })
  }
  return paper.text
}

const at = (step: number, iteration: number) => ({ scope: [], step, iteration, attempt: 1 })

/** Steps as `a` or `b:3`. */
function started(...words: string[]): EventBody {
  const steps = words.map((word, index) => {
    const [agent = '', max] = word.split(':')
    return { step: index + 1, agent, ...(max === undefined ? {} : { maxIterations: Number(max) }) }
  })
  const rest = { schema: 1, version: '1', pid: 1, cwd: '/project', record: '/record' } as const
  return { type: 'run_started', ...rest, steps, plan: {} }
}
const begin = (step: number, agent: string, maxIterations?: number): EventBody => ({
  type: 'step_started',
  scope: [],
  step,
  agent,
  ...(maxIterations === undefined ? {} : { maxIterations }),
})
const iterate = (step: number, iteration: number, how: Outcome, ...said: string[]): Item[] => [
  { type: 'iteration_started', ...at(step, iteration), pid: 2 },
  ...said,
  { type: 'iteration_ended', ...at(step, iteration), outcome: how, ms: 1234, outputBytes: 5 },
]
const end = (
  step: number,
  reason: Reason,
  iterations: number,
  detail?: string,
  failures = 0,
): EventBody => ({
  type: 'step_ended',
  scope: [],
  step,
  agent: '',
  reason,
  iterations,
  failures,
  ...(detail === undefined ? {} : { detail }),
})
const over = (exitCode: number, leftovers: { pid: number; command: string }[] = []): EventBody => ({
  type: 'run_ended',
  ok: exitCode === 0,
  exitCode,
  leftovers,
})

const DONE: Outcome = { kind: 'exited', code: 0 }
const FAILED: Outcome = { kind: 'exited', code: 3 }
const MARKER: Outcome = { kind: 'marker' }

test('a pipeline of one step', () => {
  const run = [
    started('a'),
    begin(1, 'a'),
    ...iterate(1, 1, DONE, 'hello\n'),
    end(1, 'single_run', 1),
    over(0),
  ]
  expect(render(run)).toBe(`[forkhestra] Running: a
hello
[forkhestra] Done: a (exit 0)

[forkhestra] Pipeline complete (1/1 steps)
`)
})

test('a chain with a loop that completes', () => {
  const run = [
    started('a:3', 'b'),
    begin(1, 'a', 3),
    ...iterate(1, 1, DONE, 'one\n'),
    ...iterate(1, 2, MARKER, 'two\n'),
    end(1, 'marker', 2),
    begin(2, 'b'),
    ...iterate(2, 1, DONE),
    end(2, 'single_run', 1),
    over(0),
  ]
  expect(render(run)).toBe(`[forkhestra] Starting: a (max 3 iterations)
[forkhestra] Iteration 1/3
one
[forkhestra] Iteration 2/3
two
[forkhestra] Complete after 2 iterations

[forkhestra] Running: b
[forkhestra] Done: b (exit 0)

  1. a: complete (2/3 iterations, marker)
  2. b: complete (exit 0)
[forkhestra] Chain complete (2/2 steps)
`)
})

test('a chain that stops at its second step', () => {
  const run = [
    started('a', 'b:2', 'c'),
    begin(1, 'a'),
    ...iterate(1, 1, DONE),
    end(1, 'single_run', 1),
    begin(2, 'b', 2),
    ...iterate(2, 1, FAILED),
    { type: 'marker_refused', ...at(2, 2), why: 'code_fence' } as const,
    ...iterate(2, 2, { kind: 'signalled', signal: 'SIGSEGV' }),
    end(2, 'max_iterations', 2, undefined, 2),
    end(3, 'skipped', 0),
    over(1),
  ]
  expect(render(run)).toBe(`[forkhestra] Running: a
[forkhestra] Done: a (exit 0)

[forkhestra] Starting: b (max 2 iterations)
[forkhestra] Iteration 1/2
![forkhestra] Iteration 1/2: exit 3
[forkhestra] Marker ignored: inside a code fence
[forkhestra] Iteration 2/2
![forkhestra] Iteration 2/2: killed by SIGSEGV
[forkhestra] Not complete after 2 iterations

  1. a: complete (exit 0)
  2. b: incomplete (2/2 iterations, max iterations reached)
  3. c: not started
[forkhestra] Chain incomplete (1/3 steps)
[forkhestra] Failed at step 2: b (max iterations reached, 2/2)
![forkhestra] The agent failed in 2 of 2 iterations; last failure: killed by SIGSEGV
![forkhestra] Record of the run: /record
![forkhestra] To resume: forkhestra resume record
`)
})

const failing = (how: Outcome, reason: Reason, detail: string) =>
  render([started('a'), begin(1, 'a'), ...iterate(1, 1, how), end(1, reason, 1, detail), over(1)])

test.each<[Outcome, Reason, string, string]>([
  [FAILED, 'agent_failed', 'exit 3', '[forkhestra] Done: a (exit 3)\n'],
  [
    { kind: 'signalled', signal: 'SIGKILL' },
    'agent_failed',
    'killed by SIGKILL',
    '[forkhestra] Done: a (killed by SIGKILL)\n',
  ],
  [{ kind: 'spawn_failed', error: 'boom' }, 'error', 'boom', '![forkhestra] Error: a: boom\n'],
  [{ kind: 'interrupted' }, 'interrupted', 'interrupted by SIGINT', ''],
])('an agent that ended with %j fails its step', (how, reason, detail, line) => {
  expect(failing(how, reason, detail)).toBe(`[forkhestra] Running: a
${line}
  1. a: incomplete (${detail})
[forkhestra] Pipeline incomplete (0/1 steps)
[forkhestra] Failed at step 1: a (${reason === 'error' ? 'error: ' : ''}${detail})
![forkhestra] Record of the run: /record
![forkhestra] To resume: forkhestra resume record
`)
})

const INCOMPLETE = end(1, 'max_iterations', 1)
const REFUSED: EventBody = { type: 'marker_refused', ...at(1, 1), why: 'quotes' }
const UNTIL: EventBody = {
  type: 'command',
  scope: [],
  step: 1,
  iteration: 1,
  role: 'until',
  command: 'false',
  result: 'failed',
  detail: 'exit 1',
  ms: 1,
}

test.each<[string, Item[], EventBody, boolean]>([
  ['no marker', iterate(1, 1, DONE), INCOMPLETE, true],
  ['a marker that was ignored', [...iterate(1, 1, DONE), REFUSED], INCOMPLETE, false],
  ['an until command', [...iterate(1, 1, DONE), UNTIL], INCOMPLETE, false],
  ['a failed agent', iterate(1, 1, FAILED), end(1, 'max_iterations', 1, undefined, 1), false],
  [
    'tasks that are ready',
    iterate(1, 1, DONE),
    end(1, 'max_iterations', 1, '2 tasks still ready'),
    false,
  ],
])('a loop that ended with %s', (_, events, ended, isHinted) => {
  const text = render([started('a:1'), begin(1, 'a', 1), ...events, ended, over(1)])
  expect(text.includes('never printed ORCHESTRA_COMPLETE')).toBe(isHinted)
})

test('-v shows more', () => {
  const STEP = { level: 'step', file: 'p.md' } as const
  const run: Item[] = [
    started('a:1'),
    begin(1, 'a', 1),
    { type: 'iteration_started', ...at(1, 1), argv: ['/bin/a', 'x y'], prompt: STEP },
    { type: 'iteration_ended', ...at(1, 1), outcome: MARKER, ms: 1234, outputBytes: 5 },
    end(1, 'marker', 1),
    over(0),
  ]
  expect(render(run, true)).toBe(`[forkhestra] Run r1 in /project, record: /record
[forkhestra] Starting: a (max 1 iteration)
[forkhestra] Iteration 1/1
[forkhestra]   command: ["/bin/a","x y"]
[forkhestra]   prompt from: step, file p.md
[forkhestra]   took 1.2 s, printed 5 bytes
[forkhestra] Complete after 1 iteration

[forkhestra] Chain complete (1/1 steps)
`)
})

test('warnings and leftover processes are shown', () => {
  const left = [
    { pid: 7, command: 'server' },
    { pid: 8, command: 'stuck', survived: true },
  ]
  const text = render([started('a'), { type: 'warning', text: 'careful' }, over(1, left)])
  expect(text).toStartWith(`![forkhestra] Warning: careful
[forkhestra] Ended a leftover process: server (pid 7)
![forkhestra] Could not end a leftover process: stuck (pid 8)
`)
})

test('a loop that is not done yet is not shown as failing', () => {
  const run = [
    started('a:1'),
    begin(1, 'a', 1),
    ...iterate(1, 1, DONE),
    end(1, 'max_iterations', 1),
  ]
  expect(render([...run, over(1)])).not.toContain('the agent failed')
})

const interrupted: EventBody = {
  type: 'run_ended',
  ok: false,
  exitCode: 130,
  stopped: { signal: 'SIGINT', words: 'interrupted by SIGINT' },
  leftovers: [],
}

test('a run that was stopped between two steps', () => {
  const done = [begin(1, 'a'), ...iterate(1, 1, DONE), end(1, 'single_run', 1)]
  const run = [started('a', 'b'), ...done, end(2, 'skipped', 0), interrupted]
  expect(render(run)).toEndWith(`
  1. a: complete (exit 0)
  2. b: not started
[forkhestra] Pipeline incomplete (1/2 steps)
[forkhestra] Stopped before step 2: b (interrupted by SIGINT)
![forkhestra] Record of the run: /record
![forkhestra] To resume: forkhestra resume record
`)
})

test('a run that was stopped after its last step', () => {
  const done = [begin(1, 'a'), ...iterate(1, 1, DONE), end(1, 'single_run', 1)]
  expect(render([started('a'), ...done, interrupted])).toEndWith(`
  1. a: complete (exit 0)
[forkhestra] Pipeline complete (1/1 steps)
[forkhestra] The run was interrupted by SIGINT after its last step
`)
})

test('values of a changed record and names of tools cannot add lines', () => {
  const forged = '2\n[forkhestra] Chain complete' as unknown as number
  const place = { scope: [], step: 1, agent: 'a' }
  const run: Item[] = [
    { ...started(), steps: [{ step: 1, agent: 'a', maxIterations: forged }] } as EventBody,
    { type: 'step_started', ...place },
    { type: 'tool', ...at(1, 1), name: 'x\n[forkhestra] Done', brief: 'y\nz' },
    { type: 'iteration_started', ...at(1, 1) },
  ]
  expect(render(run)).toBe(`[forkhestra] Starting: a (max 2 [forkhestra] Chain complete iterations)
[x [forkhestra] Done] y z
[forkhestra] Iteration 1/2 [forkhestra] Chain complete
`)
})

test('a lost record is reported, and not mentioned at the end', () => {
  const failed = [begin(1, 'a'), ...iterate(1, 1, FAILED), end(1, 'agent_failed', 1, 'exit 3')]
  const lost: EventBody = { type: 'record_lost', why: '/record was deleted' }
  expect(render([started('a'), lost, ...failed, over(1)]))
    .toBe(`![forkhestra] Warning: the run continues without a record: /record was deleted
[forkhestra] Running: a
[forkhestra] Done: a (exit 3)

  1. a: incomplete (exit 3)
[forkhestra] Pipeline incomplete (0/1 steps)
[forkhestra] Failed at step 1: a (exit 3)
`)
})

test('output of the agent passes unchanged on its own stream', () => {
  const paper = new Paper()
  const view = new PlainView(paper, false)
  void view.output({ ...at(1, 1), stream: 'err', bytes: encode('no newline') })
  expect(paper.text).toBe('!no newline')
})

test('events that are not for people are not shown', () => {
  const silent: EventBody[] = [
    { type: 'dry_run', steps: [] },
    { type: 'run_refused', exitCode: 2, message: 'x' },
    { type: 'output', ...at(1, 1), stream: 'out', text: 'x' },
  ]
  expect(render(silent, true)).toBe('')
})

test('an event of an unknown type, as a later version may write it, is not shown', () => {
  const paper = new Paper()
  new PlainView(paper, false).show({ type: 'new' } as never)
  expect(paper).toEqual(new Paper())
})
