import { z } from 'zod'

// The one vocabulary of what happened, as it stands in `--json` and in the journal. Only tests and
// the schema generator load this file at run time; the rest of the house uses the types.

const outcome = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('marker') }),
    z.object({
      kind: z.literal('exited'),
      code: z.int(),
      error: z.string().optional().describe('What the agent itself says went wrong.'),
    }),
    z.object({ kind: z.literal('signalled'), signal: z.string() }),
    z.object({ kind: z.literal('max_turns'), error: z.string() }),
    z.object({ kind: z.literal('auth_failed'), error: z.string() }),
    z.object({ kind: z.literal('overloaded'), error: z.string() }),
    z.object({
      kind: z.literal('rate_limited'),
      error: z.string(),
      resetsAt: z.int().optional().describe('Seconds since 1970.'),
    }),
    z.object({ kind: z.literal('spawn_failed'), error: z.string() }),
    z.object({ kind: z.literal('interrupted') }),
  ])
  .describe('The one cause that ended an iteration.')

const reason = z
  .enum([
    'marker',
    'until',
    'single_run',
    'max_iterations',
    'agent_failed',
    'blocked',
    'auth',
    'error',
    'interrupted',
    'skipped',
  ])
  .describe('The one cause that ended a step.')

const refusal = z
  .enum(['code_fence', 'longer_line', 'quotes', 'letter_case', 'stderr', 'tasks_ready'])
  .describe('Why a marker was seen and not believed.')

const inRun = {
  at: z.iso.datetime().describe('When, in UTC.'),
  run: z.string().describe('Id of the run.'),
  seq: z.int().optional().describe('Number of the event in its run; live output has none.'),
  worker: z.string().describe('Which process wrote the event.'),
}
const inStep = {
  ...inRun,
  scope: z.array(z.string()).describe('Path of the place in the run, e.g. ["s2","i5"].'),
  step: z.int().min(1).describe('Number of the step, from 1.'),
}
const inIteration = {
  ...inStep,
  iteration: z.int().min(1).describe('Number of the iteration, from 1.'),
  attempt: z.int().min(1).describe('1, and more where the same iteration is repeated.'),
}

const promptSource = z.object({
  level: z.enum(['command line', 'step', 'chain', 'agent default', 'built-in']),
  file: z.string().optional().describe('Absent where it is an inline text.'),
})

const leftover = z.object({
  pid: z.int(),
  command: z.string(),
  survived: z.boolean().optional().describe('True where not even SIGKILL ended it.'),
})

const usage = z
  .object({
    session: z.string().optional().describe('Id by which the agent itself knows the session.'),
    model: z.string().optional(),
    turns: z.int().optional(),
    costUsd: z.number().optional().describe('What the agent says it cost.'),
    tokens: z
      .object({ input: z.int(), output: z.int(), cacheRead: z.int(), cacheWrite: z.int() })
      .optional(),
    denied: z.int().optional().describe('How many calls of tools nobody allowed.'),
  })
  .describe('What an iteration took, as far as the agent tells.')

const parent = z.string().optional().describe('The call of the sub-agent that it belongs to.')

export const eventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('run_started'),
    ...inRun,
    schema: z.literal(1).describe('Version of this vocabulary.'),
    version: z.string().describe('Version of forkhestra.'),
    pid: z.int(),
    cwd: z.string(),
    chain: z.string().optional().describe('Name of the chain, where it has one.'),
    record: z.string().optional().describe('Folder with the journal and the logs of this run.'),
    steps: z
      .array(
        z.object({
          step: z.int().min(1),
          agent: z.string(),
          maxIterations: z.int().optional().describe('Absent where the agent runs once.'),
        }),
      )
      .describe('The steps to come, in short.'),
    plan: z.looseObject({}).describe('The complete plan; its form may change.'),
  }),
  z.object({
    type: z.literal('step_started'),
    ...inStep,
    agent: z.string(),
    maxIterations: z.int().optional().describe('Absent where the agent runs once.'),
  }),
  z.object({
    type: z.literal('iteration_started'),
    ...inIteration,
    pid: z.int().optional().describe('Absent where the agent could not be started.'),
    argv: z.array(z.string()).optional().describe('The exact command.'),
    prompt: promptSource.optional().describe('Where the prompt came from; absent: no prompt.'),
  }),
  z.object({
    type: z.literal('output'),
    ...inIteration,
    stream: z.enum(['out', 'err']),
    text: z.string().optional().describe('What the agent printed (in --json).'),
    log: z.string().optional().describe('Log that holds the bytes (in the journal).'),
    offset: z.int().optional().describe('Where they begin in the output of the iteration.'),
    bytes: z.int().optional().describe('How many they are.'),
  }),
  z.object({ type: z.literal('message'), ...inIteration, text: z.string(), parent }),
  z.object({
    type: z.literal('tool'),
    ...inIteration,
    name: z.string(),
    brief: z.string().describe('What it is called for, in one line.'),
    parent,
  }),
  z.object({
    type: z.literal('limit'),
    ...inIteration,
    status: z.string().describe('allowed, allowed_warning or rejected.'),
    resetsAt: z.number().optional().describe('Seconds since 1970.'),
    kind: z.string().optional().describe('Which quota.'),
    utilization: z.number().optional().describe('From 0 to 1.'),
  }),
  z.object({ type: z.literal('marker_refused'), ...inIteration, why: refusal }),
  z.object({
    type: z.literal('iteration_ended'),
    ...inIteration,
    outcome,
    ms: z.int().describe('Duration.'),
    outputBytes: z.int().describe('What the agent printed, on both streams.'),
    usage: usage.optional(),
  }),
  z.object({
    type: z.literal('step_ended'),
    ...inStep,
    agent: z.string(),
    reason,
    iterations: z.int().min(0),
    failures: z.int().min(0).describe('How many of them ended with an error of the agent.'),
    detail: z.string().optional().describe('The same in words for people.'),
  }),
  z.object({ type: z.literal('warning'), ...inRun, text: z.string() }),
  z.object({
    type: z.literal('record_lost'),
    ...inRun,
    why: z.string().describe('Why the run goes on without a record.'),
  }),
  z.object({
    type: z.literal('run_ended'),
    ...inRun,
    ok: z.boolean(),
    exitCode: z.int(),
    stopped: z
      .object({ signal: z.enum(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']), words: z.string() })
      .optional()
      .describe('What stopped the run before its end.'),
    leftovers: z.array(leftover).describe('Processes that the agents left running, now ended.'),
  }),
  z.object({
    type: z.literal('dry_run'),
    ...inRun,
    steps: z
      .array(
        z.object({
          step: z.int().min(1),
          agent: z.string(),
          kind: z.string().describe('How the agent is called: binary or claude.'),
          maxIterations: z.int().optional().describe('Absent where the agent runs once.'),
          args: z.array(z.string()),
          prompt: z.object({ text: z.string(), source: promptSource }).optional(),
          argv: z.array(z.string()),
        }),
      )
      .describe('What would run.'),
  }),
  z.object({
    type: z.literal('run_refused'),
    ...inRun,
    exitCode: z.int(),
    message: z.string(),
    hint: z.string().optional(),
  }),
])

export type RunEvent = z.infer<typeof eventSchema>
export type Outcome = z.infer<typeof outcome>
export type Reason = z.infer<typeof reason>
export type Refusal = z.infer<typeof refusal>
export type Leftover = z.infer<typeof leftover>
