import { expect, test } from 'bun:test'
import { eventSchema, type Outcome, type Reason } from '../../src/records/events/schema.ts'
import { makeChain, reasonsIn, runChain } from '../support/chains.ts'
import { sh } from '../support/project.ts'
import { ofType } from '../support/record.ts'

/** Steps of agents, the outcomes of their iterations, and the reason why the last step ended. */
interface Row {
  readonly outcomes: readonly Outcome['kind'][]
  readonly reasons: readonly Reason[]
  readonly code?: number
  /** Lines of the agent. */
  readonly agent: readonly string[]
  readonly steps: readonly object[]
  readonly says?: string
}

const once = (more: object = {}) => ({ agent: 'agent', ...more })
const loop = (iterations: number, more: object = {}) => ({ agent: 'agent', iterations, ...more })
const FAR = '$(($(date +%s) + 90000))'

const ROWS: Readonly<Record<string, Row>> = {
  'the marker completes a loop': {
    outcomes: ['marker'],
    reasons: ['marker'],
    code: 0,
    agent: ['echo ORCHESTRA_COMPLETE', 'exit 7'],
    steps: [loop(3)],
  },
  'until completes a loop': {
    outcomes: ['exited', 'exited'],
    reasons: ['until'],
    code: 0,
    agent: ['exit 4'],
    steps: [loop(3, { until: '[ $FORKHESTRA_ITERATION = 2 ]' })],
    says: 'Complete after 2 iterations: [ $FORKHESTRA_ITERATION = 2 ]',
  },
  'success completes a single run': {
    outcomes: ['exited'],
    reasons: ['single_run'],
    code: 0,
    agent: ['exit 0'],
    steps: [once()],
  },
  'a loop without a marker uses all of its iterations': {
    outcomes: ['exited', 'signalled'],
    reasons: ['max_iterations'],
    agent: ['[ $FORKHESTRA_ITERATION = 1 ] && exit 3', 'kill -9 $$'],
    steps: [loop(2)],
    says: 'The agent failed in 2 of 2 iterations; last failure: killed by SIGKILL',
  },
  'a failing single run fails the step': {
    outcomes: ['exited'],
    reasons: ['agent_failed'],
    agent: ['exit 3'],
    steps: [once()],
  },
  'a single run that is killed by a signal fails the step': {
    outcomes: ['signalled'],
    reasons: ['agent_failed'],
    agent: ['kill -TERM $$'],
    steps: [once()],
    says: 'killed by SIGTERM',
  },
  'a loop continues after a timeout and after silence': {
    outcomes: ['timed_out', 'idle', 'marker'],
    reasons: ['marker'],
    code: 0,
    agent: [
      'case $FORKHESTRA_ITERATION in',
      '1) while :; do echo; sleep 0.05; done ;;',
      '2) sleep 60 ;;',
      'esac',
      'echo ORCHESTRA_COMPLETE',
    ],
    steps: [loop(3, { timeout: '700ms', idleTimeout: '400ms' })],
    says: 'Iteration 2/3: silent for 0.4 s',
  },
  'a single run that takes too long ends with timeout': {
    outcomes: ['timed_out'],
    reasons: ['timeout'],
    agent: ['sleep 60'],
    steps: [once({ timeout: '200ms' })],
    says: 'To allow more time: --timeout or --idle-timeout',
  },
  'a single run that is silent for too long ends with timeout': {
    outcomes: ['idle'],
    reasons: ['timeout'],
    agent: ['sleep 60'],
    steps: [once({ idleTimeout: '200ms' })],
  },
  'a limit that is not reset in time ends with quota and the resume command': {
    outcomes: ['rate_limited'],
    reasons: ['quota'],
    agent: [`echo "Claude AI usage limit reached|${FAR}"`, 'exit 1'],
    steps: [loop(3)],
    says: 'waiting would exceed the maxWait of 6 h)\n',
  },
  'a missing login is not retried': {
    outcomes: ['auth_failed'],
    reasons: ['auth', 'skipped'],
    agent: ['echo "Invalid API key · Please run /login"', 'exit 1'],
    steps: [loop(3, { onFail: 'continue' }), once()],
    says: 'See what is missing: forkhestra doctor',
  },
  'missing credit is not retried': {
    outcomes: ['auth_failed'],
    reasons: ['auth'],
    agent: [
      `echo 'API Error: 400 {"error":{"message":"Your credit balance is too low."}}'`,
      'exit 1',
    ],
    steps: [loop(3)],
    says: 'See what is missing: forkhestra doctor',
  },
  'an unknown model is not retried': {
    outcomes: ['auth_failed'],
    reasons: ['auth'],
    agent: [
      `echo 'API Error: 404 {"error":{"type":"not_found_error","message":"model: x"}}' >&2`,
      'exit 1',
    ],
    steps: [loop(3)],
  },
  'a rate limit without a reset time is retried': {
    outcomes: ['overloaded', 'overloaded'],
    reasons: ['agent_failed'],
    agent: ['echo "API Error: Rate limit reached"', 'exit 1'],
    steps: [loop(2, { retry: { attempts: 2, backoff: '20ms' } })],
    says: '(2 tries)',
  },
  'an overload is retried until the agent has failed': {
    outcomes: ['overloaded', 'overloaded', 'overloaded'],
    reasons: ['agent_failed'],
    agent: ['echo "API Error: 529 Overloaded"', 'exit 1'],
    steps: [loop(2, { retry: { attempts: 3, backoff: '20ms' } })],
    says: '(3 tries)',
  },
  'a temporary overload uses no iteration': {
    outcomes: ['overloaded', 'marker'],
    reasons: ['marker'],
    code: 0,
    agent: [
      '[ -e seen ] && echo ORCHESTRA_COMPLETE && exit',
      'touch seen; echo "API Error: 529 Overloaded"; exit 1',
    ],
    steps: [loop(1, { retry: { attempts: 3, backoff: '20ms' } })],
    says: 'Complete after 1 iteration\n',
  },
  'a loop continues after an agent has used all of its turns': {
    outcomes: ['max_turns', 'marker'],
    reasons: ['marker'],
    code: 0,
    agent: [
      '[ $FORKHESTRA_ITERATION = 2 ] && echo ORCHESTRA_COMPLETE && exit',
      'echo "Error: Reached max turns (5)"; exit 1',
    ],
    steps: [loop(2)],
  },
  'an agent that reports its budget as spent ends the step': {
    outcomes: ['budget'],
    reasons: ['budget'],
    agent: ['echo "Error: Exceeded USD budget (1)"', 'exit 1'],
    steps: [loop(3)],
    says: ' --max-cost …',
  },
  'the end of the time budget ends iteration and step': {
    outcomes: ['budget'],
    reasons: ['budget'],
    agent: ['sleep 60'],
    steps: [loop(3, { maxDuration: '300ms' })],
    says: ' --max-duration …',
  },
  'a check that takes too long for the time budget needs more time, whatever its command says': {
    outcomes: ['exited'],
    reasons: ['budget'],
    agent: ['echo ORCHESTRA_COMPLETE'],
    steps: [loop(3, { maxDuration: '1s', verify: 'echo $HOME tokens; sleep 60' })],
    says: ' --max-duration …',
  },
  'a blocked agent is not started again, whatever else it prints': {
    outcomes: ['blocked'],
    reasons: ['blocked'],
    agent: ['echo ORCHESTRA_COMPLETE', 'echo "ORCHESTRA_BLOCKED: no access to the database"'],
    steps: [loop(3)],
    says: 'no access to the database',
  },
  'checks that keep failing end with gate_failed': {
    outcomes: ['exited', 'exited'],
    reasons: ['gate_failed'],
    agent: ['echo ORCHESTRA_COMPLETE'],
    steps: [loop(2, { verify: 'exit 5' })],
    says: 'Failed at step 1: agent (gate failed: exit 5: exit 5)',
  },
  'iterations without progress end with stalled': {
    outcomes: ['exited', 'exited', 'exited'],
    reasons: ['stalled'],
    agent: ['exit 0'],
    steps: [loop(9, { stall: 3 })],
    says: '3 iterations without progress: ',
  },
  'an agent that can no longer start is an error': {
    outcomes: ['exited', 'spawn_failed'],
    reasons: ['error'],
    agent: ['rm "$0"'],
    steps: [loop(3)],
  },
  'a prompt file deleted after an iteration is an error': {
    outcomes: ['exited', 'spawn_failed'],
    reasons: ['error'],
    agent: ['rm -f task.md'],
    steps: [loop(3, { promptFile: 'task.md' })],
    says: 'task.md',
  },
  'a check that cannot run is an error': {
    outcomes: ['exited'],
    reasons: ['error'],
    agent: ['echo ORCHESTRA_COMPLETE'],
    steps: [loop(3, { verify: 'no-such-program' })],
    says: 'the check cannot be run: no-such-program: exit 127',
  },
  'a signal interrupts a step, and later steps are skipped': {
    outcomes: ['interrupted'],
    reasons: ['interrupted', 'skipped'],
    code: 143,
    agent: ['kill -TERM $PPID', 'sleep 60'],
    steps: [loop(3, { onFail: 'continue' }), once()],
    says: 'interrupted by SIGTERM',
  },
  'with failFast, the first failure cancels the other agents': {
    outcomes: ['exited', 'interrupted'],
    reasons: ['agent_failed', 'cancelled'],
    agent: ['[ $FORKHESTRA_STEP = 2 ] && exec sleep 60', 'exit 4'],
    steps: [{ parallel: [once(), once()], failFast: true }],
    says: 'agent did not complete',
  },
}

test.each(Object.entries(ROWS))(
  '%s',
  async (_, { outcomes, reasons, code = 1, agent, steps, says = '' }) => {
    const cwd = makeChain(steps, { agent: sh(...agent), 'task.md': 'Work.' })
    const ran = await runChain(cwd)
    const { events, stdout, stderr } = ran
    expect({
      outcomes: ofType(events, 'iteration_ended').map(({ outcome }) => outcome.kind),
      reasons: reasonsIn(events),
      code: ran.code,
    }).toEqual({ outcomes: [...outcomes], reasons: [...reasons], code })
    expect(stdout + stderr).toContain(says)
  },
)

test('every outcome and every reason occurs in a real run', () => {
  const shapes = eventSchema.options.map(({ shape }) => shape)
  const kinds = shapes.flatMap((shape) =>
    'outcome' in shape ? shape.outcome.options.map((option) => option.shape.kind.value) : [],
  )
  const reasons = shapes.flatMap((shape) => ('reason' in shape ? shape.reason.options : []))
  const rows = Object.values(ROWS)
  const sorted = (words: Iterable<string>) => [...new Set(words)].toSorted()
  expect(sorted(rows.flatMap((row) => row.outcomes))).toEqual(sorted(kinds))
  // A conflict needs branches: tests/run/branches.test.ts.
  const others = reasons.filter((reason) => reason !== 'conflict')
  expect(sorted(rows.flatMap((row) => row.reasons))).toEqual(sorted(others))
})
