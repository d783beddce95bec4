import * as z from 'zod/mini'
import { staysInside } from '../parse/branch-schema.ts'
import { MAX_COPIES, MIN_COPIES } from '../parse/chain-text.ts'
import { groupsOf, stepsOf, type Plan } from './plan.ts'

// A plan from a record, which another program may have changed. Only fields that would break the run are
// checked, so that plans of other versions stay readable.

const text = z.string()
const count = z.number().check(z.nonnegative())
const some = <Schema extends z.ZodMiniType>(schema: Schema) => z.optional(schema)
const texts = z.array(text)
const named = z.record(text, text)

const template = z.array(
  z.union([text, z.looseObject({ variable: text }), z.looseObject({ value: text })]),
)

const settings = {
  name: text,
  systemPrompt: z.array(z.looseObject({ text: some(text), file: some(text) })),
  model: text,
  maxTurns: count,
  allowedTools: some(texts),
  disallowedTools: some(texts),
  permissionMode: some(text),
  file: some(text),
}

const agent = z.discriminatedUnion('engine', [
  z.looseObject({
    engine: z.literal('binary'),
    name: text,
    program: text,
    interpreter: some(text),
  }),
  z.looseObject({ engine: z.literal('claude'), ...settings, program: text, mcpConfig: some(text) }),
  z.looseObject({ engine: z.literal('native'), ...settings, provider: text }),
])

const budget = z.looseObject({ costUsd: some(count), tokens: some(count), ms: some(count) })

const onFail = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('stop') }),
  z.looseObject({ kind: z.literal('continue') }),
  z.looseObject({ kind: z.literal('goto'), step: count, times: count }),
  z.looseObject({ kind: z.literal('run'), step: count }),
])

const policy = z.looseObject({
  verify: texts,
  until: some(text),
  when: some(text),
  timeoutMs: some(count),
  idleMs: some(count),
  budget,
  retry: z.looseObject({
    forMs: some(count),
    attempts: some(count),
    backoffMs: count,
    maxBackoffMs: count,
  }),
  maxWaitMs: count,
  stall: count,
  onFail,
  hooks: named,
  env: named,
  grace: z.looseObject({ markerMs: count, termMs: count }),
})

const copies = some(z.int().check(z.minimum(MIN_COPIES), z.maximum(MAX_COPIES)))

const branch = some(
  z.looseObject({
    isolation: z.enum(['shared', 'worktree']),
    setup: some(text),
    copy: some(z.array(text.check(z.refine(staysInside)))),
    merge: z.enum(['rebase', 'merge']),
    verify: texts,
    failFast: some(z.boolean()),
  }),
)

const prompt = z.looseObject({
  level: text,
  text: some(template),
  file: some(template),
  base: some(text),
})

const step = z.looseObject({
  kind: z.literal('step'),
  id: text,
  number: z.int().check(z.positive()),
  name: some(text),
  agent,
  cwd: text,
  loop: some(z.int().check(z.positive())),
  copies,
  branch,
  args: z.array(template),
  prompt: z.array(
    prompt.check(z.refine((each) => each.text !== undefined || each.file !== undefined)),
  ),
  reading: some(z.looseObject({ limitBytes: some(count), roots: some(texts) })),
  policy,
})

const group = z.looseObject({
  kind: z.enum(['sequence', 'parallel', 'fallback']),
  id: text,
  get of() {
    return z.array(z.discriminatedUnion('kind', [step, group]))
  },
  rounds: some(z.int().check(z.positive())),
  copies,
  branch,
  policy: some(
    z.looseObject({ when: some(text), onFail, hooks: named, budget, failFast: some(z.boolean()) }),
  ),
})

const notify = z.looseObject({
  to: some(text),
  url: some(text),
  urlEnv: some(text),
  command: some(text),
  format: some(text),
  on: texts,
  minWaitMs: count,
})

const plan = z.looseObject({
  run: text,
  cwd: text,
  chain: some(text),
  root: group,
  recoveries: z.array(step),
  budget,
  when: some(text),
  hooks: named,
  notify: some(z.array(notify)),
  maxParallel: some(z.int().check(z.positive())),
  queueLimits: some(z.record(text, count)),
  configuration: some(z.looseObject({ file: text, hash: text, text: some(text) })),
})

type Parsed = { readonly plan: Plan } | { readonly wrong: string }

/** The plan of a record, or the path of the first invalid field, such as `root.of[0].args`. */
export function parsePlan(value: unknown): Parsed {
  const parsed = plan.safeParse(value)
  // Returns the value itself, because the schema does not know all fields.
  if (parsed.success) return withNumbers(value as Plan)
  const path = parsed.error.issues[0]?.path ?? []
  const words = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
  return { wrong: words.join('').replace(/^\./, '') || 'all of it' }
}

/** Checks the numbers of steps: a run that cannot find a step would never end. */
function withNumbers(read: Plan): Parsed {
  const steps = [...stepsOf(read.root), ...read.recoveries]
  const empty = groupsOf(read.root).find(({ of }) => of.length === 0)
  if (empty !== undefined) return { wrong: `group ${empty.id}` }
  const isKnown = (number: number) => steps[number - 1]?.number === number
  for (const [index, { id, number, policy: own }] of steps.entries()) {
    if (number !== index + 1) return { wrong: `the number of step ${id}` }
    if ('step' in own.onFail && !isKnown(own.onFail.step)) return { wrong: `onFail of step ${id}` }
  }
  return { plan: read }
}
