import { z } from 'zod'

// The parts of which events are made, see `schema.ts`.

export const outcome = z
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
    z.object({ kind: z.literal('timed_out'), ms: z.int().describe('The limit.') }),
    z.object({ kind: z.literal('idle'), ms: z.int().describe('The limit.') }),
    z.object({ kind: z.literal('budget'), error: z.string() }),
    z.object({ kind: z.literal('blocked'), reason: z.string().describe('In its own words.') }),
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
  .describe('Why a marker was seen and not believed.')

export const lacks = z
  .object({
    what: z.array(z.string()).describe('Each with a word before it, and where it stands.'),
    prompt: z.boolean().optional().describe('True where it is enough to give the prompt again.'),
  })
  .describe('What a resume needs again, because no record holds it: what looks like a secret.')

export const inRun = {
  at: z.iso.datetime().describe('When, in UTC.'),
  run: z.string().describe('Id of the run.'),
  seq: z.int().optional().describe('Number of the event in its run; live output has none.'),
  worker: z.string().describe('Which process wrote the event.'),
  skippedMs: z
    .int()
    .optional()
    .describe(
      'How far the clock has moved since this process began without the process running: it was stopped, the machine slept, or the clock was set. Time limits do not count it.',
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
    .describe('How often the step is begun; absent: for the first time.'),
}
export const inIteration = {
  ...inStep,
  iteration: z.int().min(1).describe('Number of the iteration, from 1.'),
  attempt: z.int().min(1).describe('1, and more where the same iteration is repeated.'),
}

export const ofTask = z
  .string()
  .optional()
  .describe('The sub-agent that it belongs to; absent: the agent of the step itself.')

export const inTask = {
  ...inIteration,
  task: z.string().describe('Name of the task, and of the sub-agent at work on it.'),
  id: z.string().describe('Id of the task; names are given again once a task is over.'),
}

export const failureClass = z
  .enum(['transient', 'fatal', 'timeout', 'budget', 'cancelled', 'precondition', 'lost'])
  .describe('Why a task failed.')

export const worktree = z
  .object({ path: z.string(), branch: z.string(), isKept: z.boolean().optional() })
  .describe('The git worktree in which a task works by itself.')

export const notQueued = z
  .object({ name: z.string(), error: z.string(), hint: z.string().optional() })
  .describe('A task that was to follow, and was refused.')

export const leftInQueue = z
  .object({
    queued: z.int().min(0),
    names: z.array(z.string()).describe('Of tasks that were not begun, at most 20 of them.'),
    unread: z.int().min(0),
    senders: z.array(z.string()).describe('Of messages that nobody has read.'),
  })
  .describe('What is left in the queue and the inbox of the run.')

export const promptSource = z.object({
  level: z.enum(['command line', 'step', 'chain', 'agent default', 'built-in']),
  file: z.string().optional().describe('Absent where it is an inline text.'),
})

export const leftover = z.object({
  pid: z.int(),
  command: z.string(),
  survived: z.boolean().optional().describe('True where not even SIGKILL ended it.'),
})

const tokens = z.object({
  input: z.int(),
  output: z.int(),
  cacheRead: z.int(),
  cacheWrite: z.int(),
})

const billing = z
  .enum(['api', 'subscription'])
  .describe('Who pays; with a subscription a cost is what the API would have taken.')

export const spent = z
  .object({
    ms: z.int().describe('Time in which the run was carried out, waits included.'),
    costUsd: z.number(),
    tokens,
    iterations: z.int().min(0),
    billing: billing.optional(),
  })
  .describe('What it took in all, as far as the agents tell.')

export const unmarked = z
  .boolean()
  .optional()
  .describe('True where a planner gave no marker and the chain continues with its tasks.')

export const ends = z.object({
  reason,
  unmarked,
  detail: z.string().optional().describe('The same in words for people.'),
})

export const changes = z
  .object({
    head: z.string().optional().describe('The commit after it.'),
    commits: z.int().min(0),
    files: z.array(z.string()).describe('Changed files, at most 100 of them.'),
    fileCount: z.int().min(0),
  })
  .describe('What an iteration did to the git repository.')

export const usage = z
  .object({
    session: z.string().optional().describe('Id by which the agent itself knows the session.'),
    model: z.string().optional(),
    turns: z.int().optional(),
    costUsd: z.number().optional().describe('What the agent says it cost.'),
    billing: billing.optional(),
    tokens: tokens.optional(),
    denied: z.int().optional().describe('How many calls of tools nobody allowed.'),
  })
  .describe('What an iteration took, as far as the agent tells.')

export const parent = z
  .string()
  .optional()
  .describe('The call of the sub-agent that it belongs to.')
