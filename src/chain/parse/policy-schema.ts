import * as z from 'zod/mini'
import { BRANCH_FIELDS } from './branch-schema.ts'
import { notify } from './notify-schema.ts'
import {
  agentName,
  count,
  described,
  field,
  fieldsOf,
  flag,
  string,
  whole,
  type Shape,
} from './schema-fields.ts'
import { time, timeOrOff, timeOrZero } from './time-fields.ts'

// Steps, chains and agents have the same policy fields. Times stay texts here and become milliseconds
// in chain/plan/make-policy.ts.

const command = string('a command', [/\S/, 'a command that is not empty'])
const commandField = fieldsOf(command)

const atLeastZero = fieldsOf(whole('a whole number, 0 or more', 0))

const AMOUNT_ERROR = 'an amount in US dollars greater than 0'

const retry = () =>
  z
    .strictObject(
      {
        for: timeOrZero('How long to retry in total. Default: 2h.'),
        attempts: atLeastZero('The number of attempts, instead of a time.'),
        backoff: time('The first wait; each further wait is twice as long. Default: 10s.'),
        maxBackoff: time('The longest wait between two attempts. Default: 10m.'),
      },
      { error: 'an object such as { "for": "2h" } or { "attempts": 5 }' },
    )
    .check(
      z.refine((value) => value.for === undefined || value.attempts === undefined, {
        error: 'either "for" or "attempts", not both',
      }),
    )

const onFail = () =>
  z.union(
    [
      z.enum(['stop', 'continue']),
      z.strictObject({
        goto: described(
          'Name or number of the step to continue with.',
          z.union([z.string(), z.int()]),
        ),
        times: count('How often this jump is allowed. Default: 1.'),
      }),
      z.strictObject({ run: agentName }),
    ],
    { error: '"stop", "continue", { "goto": "step", "times": 2 } or { "run": "agent" }' },
  )

const stepHooks = () => ({
  beforeStep: commandField('Before a step; if it fails, the step fails.'),
  afterIteration: commandField('After each iteration.'),
  afterStep: commandField('After a step.'),
  onWait: commandField('When a wait begins.'),
})

const hooks = <Commands extends Readonly<Record<string, z.ZodMiniType>>>(commands: Commands) =>
  field(
    'Commands that get the event as JSON on stdin.',
    z.strictObject(commands, {
      error: 'an object of commands such as { "afterStep": "notify-send done" }',
    }),
  )

const env = () =>
  z.record(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/)), string(), {
    error: ({ code }) =>
      code === 'invalid_key'
        ? 'a name of letters, digits and _ that does not begin with a digit'
        : 'an object that maps names to strings',
  })

const grace = () =>
  z.strictObject(
    {
      marker: timeOrZero('How long an agent may keep running after its marker. Default: 60s.'),
      term: timeOrZero('How long it may keep running after a signal. Default: 10s.'),
    },
    { error: 'an object such as { "marker": "60s", "term": "10s" }' },
  )

const folder = () =>
  string(
    'a folder',
    [/\S/, 'a folder, e.g. "../shared"'],
    // Taken literally as a folder name, it would silently match nothing.
    [/^(?!~)/, 'the full path of a folder: ~ is not expanded'],
  )

/** The policy fields of a step and of an agent. */
export const POLICY_FIELDS = {
  verify: () =>
    field(
      'Commands that must succeed before the marker, or the success of a single run, counts.',
      z.union(
        [command, z.array(command).check(z.minLength(1, { error: 'at least one command' }))],
        {
          error: 'a command or a list of at least one command',
        },
      ),
    ),
  until: () =>
    commandField('Runs after each iteration without a marker; its success completes the step.'),
  timeout: () => timeOrOff('Time limit of one iteration. Default: 4h.'),
  idleTimeout: () => timeOrOff('Time limit without output. Default: 30m for direct agents.'),
  maxCostUsd: () =>
    field(
      'Cost limit in US dollars, as far as agents report their cost.',
      z.number({ error: AMOUNT_ERROR }).check(z.positive({ error: AMOUNT_ERROR })),
    ),
  maxTokens: () => count('Token limit.'),
  maxDuration: () => time('Time limit, including waits.'),
  retry: () => field('How long, or how many times, to retry after a temporary failure.', retry()),
  maxWait: () => timeOrZero('Longest wait for the reset of a quota. Default: 6h.'),
  stall: () => atLeastZero('Iterations without progress after which the step stops; 0: never.'),
  onFail: () => field('What happens if the step is not complete. Default: stop.', onFail()),
  when: () => commandField('Condition: if the command fails, the step or chain is skipped.'),
  hooks: () => hooks(stepHooks()),
  env: () => field('Variables to add to the environment.', env()),
  grace: () => field('How long an agent may take to exit.', grace()),
  rawPrompt: () => flag('True: the prompt is plain text, without commands.'),
  readLimit: () => count('Size limit for files that /read includes, in bytes. Default: 262144.'),
  readRoots: () =>
    field(
      'Folders outside the project from which /read may read.',
      z.array(folder(), { error: 'a list of folders' }),
    ),
  ...BRANCH_FIELDS,
}

export const CHAIN_POLICY_FIELDS = {
  ...POLICY_FIELDS,
  maxParallel: () =>
    field(
      'How many agents may run at once, without sub-agents. Default: 4.',
      whole('a whole number, 1 or more', 1),
    ),
  hooks: () => hooks({ ...stepHooks(), afterRun: commandField('After the run.') }),
  notify,
}

export type PolicyConfig = z.infer<z.ZodMiniObject<Shape<typeof POLICY_FIELDS>>>
export type ChainPolicyConfig = z.infer<z.ZodMiniObject<Shape<typeof CHAIN_POLICY_FIELDS>>>
export type OnFailConfig = z.infer<ReturnType<typeof onFail>>
