import * as z from 'zod/mini'
import { parseDuration } from '../../base/durations.ts'
import { about, agentName, count, flag, isText, type Makers, type Shape } from './schema-fields.ts'

// Steps, chains and agents have the same policy fields. Times stay texts here and become milliseconds
// in chain/plan/make-policy.ts.

const command = z
  .string({ error: 'a command' })
  .check(isText, z.regex(/\S/, { error: 'a command that is not empty' }))

const commandField = (description: string) => z.optional(command.check(z.describe(description)))

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
  return z.optional(
    z
      .string({ error })
      .check(
        z.regex(pattern, { error }),
        z.refine(isShort, { error: 'a time of at most ten years' }),
      )
      .register(...about(description)),
  )
}

function isReadable(value: string): boolean {
  try {
    parseDuration(value, 'it')
    return true
  } catch {
    return false
  }
}

const atLeastZero = (description: string) => {
  const error = 'a whole number, 0 or more'
  return z.optional(
    z
      .int({ error })
      .check(z.minimum(0, { error }))
      .register(...about(description)),
  )
}

const verify = () =>
  z
    .union([command, z.array(command).check(z.minLength(1, { error: 'at least one command' }))], {
      error: 'a command or a list of at least one command',
    })
    .register(
      ...about(
        'Commands that must succeed before the marker, or the success of a single run, counts.',
      ),
    )

const maxCostUsd = () =>
  z
    .number({ error: 'an amount in US dollars, more than 0' })
    .check(z.positive({ error: 'an amount in US dollars, more than 0' }))
    .register(...about('What may be spent, in US dollars, as far as agents report it.'))

const retry = () =>
  z
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
    .register(...about('How long, or how often, a temporary failure is retried.'))

const onFail = () =>
  z
    .union(
      [
        z.enum(['stop', 'continue']),
        z.strictObject({
          goto: z
            .union([z.string(), z.int()])
            .register(...about('Name or number of the step to continue with.')),
          times: count(Number.MAX_SAFE_INTEGER, 'How often this jump is allowed. Default: 1.'),
        }),
        z.strictObject({ run: agentName }),
      ],
      {
        error: '"stop", "continue", { "goto": "step", "times": 2 } or { "run": "agent" }',
      },
    )
    .register(...about('What happens if the step is not complete. Default: stop.'))

const stepHookFields = () => ({
  beforeStep: commandField('Before a step; if it fails, so does the step.'),
  afterIteration: commandField('After each iteration.'),
  afterStep: commandField('After a step.'),
  onWait: commandField('At the beginning of a wait.'),
})

const HOOKS_ERROR = 'an object of commands such as { "afterStep": "notify-send done" }'
const HOOKS_DESCRIPTION = 'Commands that get the event as JSON on stdin.'

const stepHooks = () =>
  z.strictObject(stepHookFields(), { error: HOOKS_ERROR }).register(...about(HOOKS_DESCRIPTION))
const chainHooks = () =>
  z
    .strictObject(
      { ...stepHookFields(), afterRun: commandField('After the run.') },
      { error: HOOKS_ERROR },
    )
    .register(...about(HOOKS_DESCRIPTION))

const variableName = z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/))

const env = () =>
  z
    .record(variableName, z.string({ error: 'a string' }).check(isText), {
      error: ({ code }) =>
        code === 'invalid_key'
          ? 'a name of letters, digits and _ that does not begin with a digit'
          : 'an object of strings by name',
    })
    .register(...about('Variables to add to the environment.'))

const grace = () =>
  z
    .strictObject(
      {
        marker: time('How long an agent may keep running after its marker. Default: 60s.', {
          zero: true,
        }),
        term: time('How long it may keep running after a signal. Default: 10s.', { zero: true }),
      },
      { error: 'an object such as { "marker": "60s", "term": "10s" }' },
    )
    .register(...about('How long an agent may take to end.'))

const folder = z.string({ error: 'a folder' }).check(
  isText,
  z.regex(/\S/, { error: 'a folder, e.g. "../shared"' }),
  // As the name of a folder it would silently match nothing.
  z.regex(/^(?!~)/, { error: 'the full path of a folder: ~ is not expanded' }),
)

const readRoots = () =>
  z
    .array(folder, { error: 'a list of folders' })
    .register(...about('Folders outside the project from which /read may read.'))

/** The policy fields of a step and of an agent. */
export const POLICY_FIELDS = {
  verify: () => z.optional(verify()),
  until: () =>
    commandField('Runs after each iteration without a marker; its success completes the step.'),
  timeout: () => time('Time limit of one iteration. Default: 4h.', { off: true }),
  idleTimeout: () =>
    time('Time limit without output. Default: 30m for direct agents.', { off: true }),
  maxCostUsd: () => z.optional(maxCostUsd()),
  maxTokens: () => count(Number.MAX_SAFE_INTEGER, 'How many tokens may be used.'),
  maxDuration: () => time('How long it may take, waits included.'),
  retry: () => z.optional(retry()),
  maxWait: () => time('Longest wait for the reset of a quota. Default: 6h.', { zero: true }),
  stall: () => atLeastZero('Iterations without progress after which the step stops; 0: never.'),
  onFail: () => z.optional(onFail()),
  when: () => commandField('If it fails, the step, or the chain, is skipped.'),
  hooks: () => z.optional(stepHooks()),
  env: () => z.optional(env()),
  grace: () => z.optional(grace()),
  rawPrompt: () => flag('True: the prompt is plain text, without commands.'),
  readLimit: () =>
    count(
      Number.MAX_SAFE_INTEGER,
      'The largest file, in bytes, that /read reads. Default: 262144.',
    ),
  readRoots: () => z.optional(readRoots()),
}

/** The policy fields of a chain. */
export const CHAIN_POLICY_FIELDS = { ...POLICY_FIELDS, hooks: () => z.optional(chainHooks()) }

export const stepName = () =>
  z.optional(
    z
      .string({ error: 'a string' })
      .check(
        z.regex(/^(?!\d+$)(?!\s)\P{Cc}+(?<!\s)$/u, {
          error: 'a name that is not a number, without spaces around it or control characters',
        }),
      )
      .register(...about('Name of the step, for messages and as a target of onFail.')),
  )

type Fields<Made extends Makers> = z.infer<z.ZodMiniObject<Shape<Made>>>

export type PolicyConfig = Fields<typeof POLICY_FIELDS>
export type ChainPolicyConfig = Fields<typeof CHAIN_POLICY_FIELDS>
export type OnFailConfig = z.infer<ReturnType<typeof onFail>>
