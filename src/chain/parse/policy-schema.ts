import * as z from 'zod/mini'
import { parseDuration } from '../../base/durations.ts'
import { agentName, described, field, flag, string, whole } from './schema-fields.ts'

// Steps, chains and agents have the same policy fields. Times stay texts here and become milliseconds
// in chain/plan/make-policy.ts.

const command = () => string('a command', [/\S/, 'a command that is not empty'])

const commandField = (description: string) => field(description, command())

const TIME = String.raw`(\d+(\.\d+)?(ms|s|m|h|d))+`

interface TimeKind {
  /** Whether zero is allowed. */
  readonly zero?: boolean
  /** Whether "off", for no limit, is allowed. */
  readonly off?: boolean
}

const time = (description: string, { zero = false, off = false }: TimeKind = {}) => {
  const pattern = new RegExp(`^(${off ? 'off|' : ''}${zero ? '' : '(?=.*[1-9])'}${TIME})$`)
  const error = `a time ${zero ? '' : 'longer than zero '}such as "30m" or "1h30m"${off ? ', or "off"' : ''}`
  const isShort = (value: string) => value === 'off' || !pattern.test(value) || isReadable(value)
  const schema = z
    .string({ error })
    .check(z.regex(pattern, { error }), z.refine(isShort, { error: 'a time of at most ten years' }))
  return field(description, schema)
}

function isReadable(value: string): boolean {
  try {
    parseDuration(value, 'it')
    return true
  } catch {
    return false
  }
}

const atLeastZero = (description: string) => whole(description, 'a whole number, 0 or more', 0)

const AMOUNT_ERROR = 'an amount in US dollars, more than 0'

const retry = z
  .strictObject(
    {
      for: time('How long to retry in total. Default: 2h.', { zero: true }),
      attempts: atLeastZero('The number of attempts, instead of a time.'),
      backoff: time('The first wait; each further one is twice as long. Default: 10s.'),
      maxBackoff: time('The longest wait between two attempts. Default: 10m.'),
    },
    { error: 'an object such as { "for": "2h" } or { "attempts": 5 }' },
  )
  .check(
    z.refine((value) => value.for === undefined || value.attempts === undefined, {
      error: 'either "for" or "attempts", not both',
    }),
  )

const onFail = z.union(
  [
    z.enum(['stop', 'continue']),
    z.strictObject({
      goto: described(
        'Name or number of the step to continue with.',
        z.union([z.string(), z.int()]),
      ),
      times: whole('How often this jump is allowed. Default: 1.'),
    }),
    z.strictObject({ run: agentName }),
  ],
  { error: '"stop", "continue", { "goto": "step", "times": 2 } or { "run": "agent" }' },
)

const STEP_HOOKS = {
  beforeStep: commandField('Before a step; if it fails, so does the step.'),
  afterIteration: commandField('After each iteration.'),
  afterStep: commandField('After a step.'),
  onWait: commandField('At the beginning of a wait.'),
}

const hooks = <Commands extends Readonly<Record<string, z.ZodMiniType>>>(commands: Commands) =>
  field(
    'Commands that get the event as JSON on stdin.',
    z.strictObject(commands, {
      error: 'an object of commands such as { "afterStep": "notify-send done" }',
    }),
  )

const env = z.record(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/)), string(), {
  error: ({ code }) =>
    code === 'invalid_key'
      ? 'a name of letters, digits and _ that does not begin with a digit'
      : 'an object of strings by name',
})

const grace = z.strictObject(
  {
    marker: time('How long an agent may keep running after its marker. Default: 60s.', {
      zero: true,
    }),
    term: time('How long it may keep running after a signal. Default: 10s.', { zero: true }),
  },
  { error: 'an object such as { "marker": "60s", "term": "10s" }' },
)

const folder = string(
  'a folder',
  [/\S/, 'a folder, e.g. "../shared"'],
  // As the name of a folder it would silently match nothing.
  [/^(?!~)/, 'the full path of a folder: ~ is not expanded'],
)

/** The policy fields of a step and of an agent. */
export const POLICY_FIELDS = {
  verify: field(
    'Commands that must succeed before the marker, or the success of a single run, counts.',
    z.union(
      [command(), z.array(command()).check(z.minLength(1, { error: 'at least one command' }))],
      { error: 'a command or a list of at least one command' },
    ),
  ),
  until: commandField(
    'Runs after each iteration without a marker; its success completes the step.',
  ),
  timeout: time('Time limit of one iteration. Default: 4h.', { off: true }),
  idleTimeout: time('Time limit without output. Default: 30m for direct agents.', { off: true }),
  maxCostUsd: field(
    'What may be spent, in US dollars, as far as agents report it.',
    z.number({ error: AMOUNT_ERROR }).check(z.positive({ error: AMOUNT_ERROR })),
  ),
  maxTokens: whole('How many tokens may be used.'),
  maxDuration: time('How long it may take, waits included.'),
  retry: field('How long, or how often, a temporary failure is retried.', retry),
  maxWait: time('Longest wait for the reset of a quota. Default: 6h.', { zero: true }),
  stall: atLeastZero('Iterations without progress after which the step stops; 0: never.'),
  onFail: field('What happens if the step is not complete. Default: stop.', onFail),
  when: commandField('If it fails, the step, or the chain, is skipped.'),
  hooks: hooks(STEP_HOOKS),
  env: field('Variables to add to the environment.', env),
  grace: field('How long an agent may take to end.', grace),
  rawPrompt: flag('True: the prompt is plain text, without commands.'),
  readLimit: whole('The largest file, in bytes, that /read reads. Default: 262144.'),
  readRoots: field(
    'Folders outside the project from which /read may read.',
    z.array(folder, { error: 'a list of folders' }),
  ),
}

/** The policy fields of a chain. */
export const CHAIN_POLICY_FIELDS = {
  ...POLICY_FIELDS,
  hooks: hooks({ ...STEP_HOOKS, afterRun: commandField('After the run.') }),
}

export type PolicyConfig = z.infer<z.ZodMiniObject<typeof POLICY_FIELDS>>
export type ChainPolicyConfig = z.infer<z.ZodMiniObject<typeof CHAIN_POLICY_FIELDS>>
export type OnFailConfig = z.infer<typeof onFail>
