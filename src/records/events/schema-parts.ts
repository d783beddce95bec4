import { z } from 'zod'

export const outcome = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('marker') }),
    z.object({
      kind: z.literal('exited'),
      code: z.int(),
      error: z.string().optional().describe('The error that the agent reported.'),
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
    z.object({ kind: z.literal('timed_out'), ms: z.int().describe('The limit.') }),
    z.object({ kind: z.literal('idle'), ms: z.int().describe('The limit.') }),
    z.object({ kind: z.literal('budget'), error: z.string() }),
    z.object({ kind: z.literal('blocked'), reason: z.string().describe('As the agent wrote it.') }),
    z.object({
      kind: z.literal('spawn_failed'),
      error: z.string(),
      hint: z.string().optional().describe('What to do about it.'),
    }),
    z.object({ kind: z.literal('interrupted') }),
  ])
  .describe('The one cause that ended an iteration.')

export const reason = z
  .enum([
    'marker',
    'until',
    'single_run',
    'max_iterations',
    'agent_failed',
    'gate_failed',
    'stalled',
    'blocked',
    'budget',
    'quota',
    'auth',
    'timeout',
    'error',
    'interrupted',
    'skipped',
  ])
  .describe('The one cause that ended a step.')

export const refusal = z
  .enum([
    'code_fence',
    'longer_line',
    'quotes',
    'letter_case',
    'stderr',
    'tasks_ready',
    'task_open',
    'gate',
  ])
  .describe('Why a marker was ignored.')

export const lacks = z
  .object({
    what: z.array(z.string()).describe('Each secret with the text before it and its location.'),
    prompt: z.boolean().optional().describe('True if passing the prompt again is enough.'),
  })
  .describe(
    'Masked secrets of the plan, which a resume needs again because the record does not contain them.',
  )

export const inRun = {
  at: z.iso.datetime().describe('When, in UTC.'),
  run: z.string().describe('Id of the run.'),
  seq: z.int().optional().describe('Number of the event in its run; live output has none.'),
  worker: z.string().describe('Which process wrote the event.'),
  skippedMs: z
    .int()
    .optional()
    .describe(
      'How far the clock has moved since the start of this process while the process did not run: it was stopped, the machine slept, or the clock was set. Time limits do not count it.',
    ),
}
export const inStep = {
  ...inRun,
  scope: z.array(z.string()).describe('Path of the place in the run, e.g. ["s2","i5"].'),
  step: z.int().min(1).describe('Number of the step, from 1.'),
  round: z
    .int()
    .min(2)
    .optional()
    .describe('How many times the step has been started; absent the first time.'),
}
export const inIteration = {
  ...inStep,
  iteration: z.int().min(1).describe('Number of the iteration, from 1.'),
  attempt: z.int().min(1).describe('1, or more if the same iteration is repeated.'),
}

export const ofTask = z
  .string()
  .optional()
  .describe('The sub-agent that it belongs to; absent for the agent of the step itself.')

export const inTask = {
  ...inIteration,
  task: z.string().describe('Name of the task and of the sub-agent that works on it.'),
  id: z.string().describe('Id of the task; names can be reused after a task has ended.'),
}

export const failureClass = z
  .enum(['transient', 'fatal', 'timeout', 'budget', 'cancelled', 'precondition', 'lost'])
  .describe('Why a task failed.')

export const worktree = z
  .object({ path: z.string(), branch: z.string(), isKept: z.boolean().optional() })
  .describe('The separate git worktree of a task.')

export const notQueued = z
  .object({ name: z.string(), error: z.string(), hint: z.string().optional() })
  .describe('A follow-up task that was refused.')

export const leftInQueue = z
  .object({
    queued: z.int().min(0),
    names: z.array(z.string()).describe('Names of tasks that were not started, at most 20.'),
    unread: z.int().min(0),
    senders: z.array(z.string()).describe('Senders of unread messages.'),
  })
  .describe('Tasks and messages left in the queue and the inbox of the run.')

export const promptSource = z.object({
  level: z.enum(['command line', 'step', 'chain', 'agent default', 'built-in']),
  file: z.string().optional().describe('Absent for inline text.'),
})

export const leftover = z.object({
  pid: z.int(),
  command: z.string(),
  survived: z.boolean().optional().describe('True if not even SIGKILL ended it.'),
})

const tokens = z.object({
  input: z.int(),
  output: z.int(),
  cacheRead: z.int(),
  cacheWrite: z.int(),
})

const billing = z
  .enum(['api', 'subscription'])
  .describe('How usage is paid; with a subscription, costs are what the API would have charged.')

export const spent = z
  .object({
    ms: z.int().describe('Running time, including waits.'),
    costUsd: z.number(),
    tokens,
    iterations: z.int().min(0),
    billing: billing.optional(),
  })
  .describe('Total time and usage, as far as the agents report it.')

export const unmarked = z
  .boolean()
  .optional()
  .describe('True if a planner gave no marker and the chain continues with its tasks.')

export const ends = z.object({
  reason,
  unmarked,
  detail: z.string().optional().describe('The reason in words, for people.'),
})

export const changes = z
  .object({
    head: z.string().optional().describe('The commit at the end.'),
    commits: z.int().min(0),
    files: z.array(z.string()).describe('Changed files, at most 100.'),
    fileCount: z.int().min(0),
  })
  .describe('What an iteration changed in the git repository.')

export const usage = z
  .object({
    session: z.string().optional().describe('Session id of the agent.'),
    model: z.string().optional(),
    turns: z.int().optional(),
    costUsd: z.number().optional().describe('The cost that the agent reported.'),
    billing: billing.optional(),
    tokens: tokens.optional(),
    denied: z.int().optional().describe('How many tool calls were denied.'),
  })
  .describe('Usage of an iteration, as far as the agent reports it.')

export const parent = z
  .string()
  .optional()
  .describe('The tool call of the sub-agent that it belongs to.')
