import { expect, test } from 'bun:test'
import { eventSchema, type Outcome, type Reason } from '../src/events/schema.ts'
import { makeChain, reasonsIn, runChain } from './support/chains.ts'
import { sh } from './support/project.ts'
import { ofType } from './support/record.ts'

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
  'a loop without a marker uses its iterations up': {
    outcomes: ['exited', 'signalled'],
    reasons: ['max_iterations'],
    agent: ['[ $FORKHESTRA_ITERATION = 1 ] && exit 3', 'kill -9 $$'],
    steps: [loop(2)],
    says: 'In 2 of 2 iterations the agent failed; the last ended with: killed by SIGKILL',
  },
  'a single run that fails is failed': {
    outcomes: ['exited'],
    reasons: ['agent_failed'],
    agent: ['exit 3'],
    steps: [once()],
  },
  'a single run that a signal ends is failed': {
    outcomes: ['signalled'],
    reasons: ['agent_failed'],
    agent: ['kill -TERM $$'],
    steps: [once()],
    says: 'killed by SIGTERM',
  },
  'a loop goes on after a timeout and after silence': {
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
    says: 'To give it longer: --timeout or --idle-timeout',
  },
  'a single run that is silent for too long ends with timeout': {
    outcomes: ['idle'],
    reasons: ['timeout'],
    agent: ['sleep 60'],
    steps: [once({ idleTimeout: '200ms' })],
  },
  'a limit that is not reset in time ends with quota, and the way to go on': {
    outcomes: ['rate_limited'],
    reasons: ['quota'],
    agent: [`echo "Claude AI usage limit reached|${FAR}"`, 'exit 1'],
    steps: [loop(3)],
    says: 'longer than the maxWait of 6 h)\n',
  },
  'whoever is not logged in is not asked again': {
    outcomes: ['auth_failed'],
    reasons: ['auth', 'skipped'],
    agent: ['echo "Invalid API key · Please run /login"', 'exit 1'],
    steps: [loop(3, { onFail: 'continue' }), once()],
    says: 'See what is missing: forkhestra doctor',
  },
  'whoever has no credit is not asked again': {
    outcomes: ['auth_failed'],
    reasons: ['auth'],
    agent: [
      `echo 'API Error: 400 {"error":{"message":"Your credit balance is too low."}}'`,
      'exit 1',
    ],
    steps: [loop(3)],
    says: 'See what is missing: forkhestra doctor',
  },
  'a model that nobody knows is not asked for again': {
    outcomes: ['auth_failed'],
    reasons: ['auth'],
    agent: [
      `echo 'API Error: 404 {"error":{"type":"not_found_error","message":"model: x"}}' >&2`,
      'exit 1',
    ],
    steps: [loop(3)],
  },
  'a rate limit without a reset is tried again': {
    outcomes: ['overloaded', 'overloaded'],
    reasons: ['agent_failed'],
    agent: ['echo "API Error: Rate limit reached"', 'exit 1'],
    steps: [loop(2, { retry: { attempts: 2, backoff: '20ms' } })],
    says: '(2 tries)',
  },
  'an overload is tried again, and in the end the agent has failed': {
    outcomes: ['overloaded', 'overloaded', 'overloaded'],
    reasons: ['agent_failed'],
    agent: ['echo "API Error: 529 Overloaded"', 'exit 1'],
    steps: [loop(2, { retry: { attempts: 3, backoff: '20ms' } })],
    says: '(3 tries)',
  },
  'an overload that passes uses no iteration up': {
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
  'an agent out of turns has worked, and its loop goes on': {
    outcomes: ['max_turns', 'marker'],
    reasons: ['marker'],
    code: 0,
    agent: [
      '[ $FORKHESTRA_ITERATION = 2 ] && echo ORCHESTRA_COMPLETE && exit',
      'echo "Error: Reached max turns (5)"; exit 1',
    ],
    steps: [loop(2)],
  },
  'an agent that says its budget is spent ends the step': {
    outcomes: ['budget'],
    reasons: ['budget'],
    agent: ['echo "Error: Exceeded USD budget (1)"', 'exit 1'],
    steps: [loop(3)],
  },
  'time that is over ends an iteration and the step': {
    outcomes: ['budget'],
    reasons: ['budget'],
    agent: ['sleep 60'],
    steps: [loop(3, { maxDuration: '300ms' })],
    says: ' --max-duration <more>',
  },
  'whoever is blocked is not paid for again, whatever else is said': {
    outcomes: ['blocked'],
    reasons: ['blocked'],
    agent: ['echo ORCHESTRA_COMPLETE', 'echo "ORCHESTRA_BLOCKED: no access to the database"'],
    steps: [loop(3)],
    says: 'no access to the database',
  },
  'checks that stay red end with gate_failed': {
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
  'an agent that cannot be started any more is an error': {
    outcomes: ['exited', 'spawn_failed'],
    reasons: ['error'],
    agent: ['rm "$0"'],
    steps: [loop(3)],
  },
  'a prompt that is gone after an iteration is an error': {
    outcomes: ['exited', 'spawn_failed'],
    reasons: ['error'],
    agent: ['rm -f task.md'],
    steps: [loop(3, { promptFile: 'task.md' })],
    says: 'task.md',
  },
  'a check that cannot be run is an error': {
    outcomes: ['exited'],
    reasons: ['error'],
    agent: ['echo ORCHESTRA_COMPLETE'],
    steps: [loop(3, { verify: 'no-such-program' })],
    says: 'the check cannot be run: no-such-program: exit 127',
  },
  'a signal interrupts, and what comes behind is skipped': {
    outcomes: ['interrupted'],
    reasons: ['interrupted', 'skipped'],
    code: 143,
    agent: ['kill -TERM $PPID', 'sleep 60'],
    steps: [loop(3, { onFail: 'continue' }), once()],
    says: 'interrupted by SIGTERM',
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
    for (const event of events) expect(eventSchema.safeParse(event).error).toBeUndefined()
    expect(stdout + stderr).toContain(says)
  },
)

test('each outcome and each reason of the vocabulary is reached by a process', () => {
  const shapes = eventSchema.options.map(({ shape }) => shape)
  const kinds = shapes.flatMap((shape) =>
    'outcome' in shape ? shape.outcome.options.map((option) => option.shape.kind.value) : [],
  )
  const reasons = shapes.flatMap((shape) => ('reason' in shape ? shape.reason.options : []))
  const rows = Object.values(ROWS)
  const sorted = (words: Iterable<string>) => [...new Set(words)].toSorted()
  expect(sorted(rows.flatMap((row) => row.outcomes))).toEqual(sorted(kinds))
  expect(sorted(rows.flatMap((row) => row.reasons))).toEqual(sorted(reasons))
})
