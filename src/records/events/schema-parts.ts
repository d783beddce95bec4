import { z } from 'zod'

// Optional fields with a description.
export const text = (description: string) => z.string().optional().describe(description)
export const texts = (description: string) => z.array(z.string()).optional().describe(description)
export const integer = (description: string) => z.int().optional().describe(description)
export const flag = (description: string) => z.boolean().optional().describe(description)

const budgetLimit = z.enum(['cost', 'tokens', 'time'])

export const outcome = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('marker') }),
    z.object({
      kind: z.literal('exited'),
      code: z.int(),
      error: text('The error that the agent reported.'),
      cause: z.literal('context_full').optional(),
    }),
    z.object({ kind: z.literal('signalled'), signal: z.string() }),
    z.object({ kind: z.literal('max_turns'), error: z.string() }),
    z.object({
      kind: z.literal('auth_failed'),
      error: z.string(),
      cause: z.literal('unknown_model').optional(),
    }),
    z.object({ kind: z.literal('overloaded'), error: z.string() }),
    z.object({
      kind: z.literal('rate_limited'),
      error: z.string(),
      resetsAt: integer('Unix time in seconds.'),
    }),
    z.object({ kind: z.literal('timed_out'), ms: z.int().describe('The limit.') }),
    z.object({ kind: z.literal('idle'), ms: z.int().describe('The limit.') }),
    z.object({
      kind: z.literal('budget'),
      error: z.string(),
      limit: budgetLimit.optional().describe('Which limit of the budget is spent.'),
    }),
    z.object({ kind: z.literal('blocked'), reason: z.string().describe('As the agent wrote it.') }),
    z.object({
      kind: z.literal('spawn_failed'),
      error: z.string(),
      hint: text('What to do about it.'),
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
    'conflict',
    'stalled',
    'blocked',
    'budget',
    'quota',
    'auth',
    'timeout',
    'error',
    'interrupted',
    'cancelled',
    'skipped',
  ])
  .describe('The one cause that ended a step or a group.')

export const cause = z
  .enum([
    ...budgetLimit.options,
    'check_failed',
    'verify_broken',
    'until_broken',
    'when_broken',
    'no_tasks',
    'tasks_ready',
    'task_open',
    'tasks_held',
    'tasks_left',
    'tasks_unreadable',
    'tasks_unclaimed',
    'tasks_archived',
    'tasks_missing',
  ])
  .optional()
  .describe('A more specific reason, for programs; absent if `reason` is enough.')

export const refusal = z
  .enum([
    'code_fence',
    'longer_line',
    'quotes',
    'letter_case',
    'no_colon',
    'stderr',
    'tasks_ready',
    'task_open',
    'gate',
  ])
  .describe('Why a marker was ignored.')

export const lacks = z
  .object({
    what: z.array(z.string()).describe('Each secret with the text before it and its location.'),
    prompt: flag('True if passing the prompt again is enough.'),
  })
  .describe(
    'Masked secrets of the plan, which a resume needs again because the record does not contain them.',
  )

export const inRun = {
  at: z.iso.datetime().describe('When, in UTC.'),
  run: z.string().describe('Id of the run.'),
  seq: integer('Number of the event in its run; live output has none.'),
  worker: z.string().describe('Which process wrote the event.'),
  skippedMs: integer(
    'How far the clock has moved since this process started while it was not running: it was stopped, the machine slept, or the clock was set. Time limits exclude this.',
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
export const inGroup = {
  ...inRun,
  scope: z.array(z.string()).describe('Path of the place in the run, e.g. ["g1","r2"].'),
  group: z.string().describe('Id of the group, e.g. "g1".'),
  round: z.int().min(1).describe('Number of the round, from 1.'),
}
export const inBranch = {
  ...inRun,
  scope: z.array(z.string()).describe('Path of the branch in the run, e.g. ["g1","r2","s3","c2"].'),
  branch: z.string().describe('Name of its git branch.'),
}
export const inIteration = {
  ...inStep,
  iteration: z.int().min(1).describe('Number of the iteration, from 1.'),
  attempt: z.int().min(1).describe('1, or more if the same iteration is repeated.'),
}

export const ofTask = text(
  'The sub-agent that it belongs to; absent for the agent of the step itself.',
)

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

export const asideWork = z
  .object({
    branch: z.string(),
    into: z.string().describe('The git branch that it belongs to.'),
    isDiverged: flag('True if that branch has other commits.'),
    isDeleted: flag('True if that branch does not exist.'),
    place: z.string().optional().describe('Where that branch is checked out.'),
  })
  .describe('A branch of the run with merged work.')

export const copies = z
  .array(z.tuple([z.string(), z.string()]))
  .describe('Commits and their copies on the target branch, if they could not be used as they are.')

export const branchPlan = z
  .object({
    isolation: z.enum(['shared', 'worktree']),
    setup: z.string().optional(),
    copy: z.array(z.string()).optional(),
    merge: z.enum(['rebase', 'merge']),
    verify: z.array(z.string()).describe('Commands that check the result of each merge.'),
    failFast: z.boolean().optional(),
  })
  .optional()
  .describe('Settings of the branch; absent if it is not one.')

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
  file: text('Absent for inline text.'),
})

export const leftover = z.object({
  pid: z.int(),
  command: z.string(),
  survived: flag('True if not even SIGKILL ended it.'),
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

export const notice = z
  .object({
    kind: z
      .enum(['end', 'wait', 'blocked', 'budget'])
      .optional()
      .describe('Why people are notified; absent in hooks.'),
    title: z.string().describe('In a few words.'),
    text: z.string().describe('Everything below, in lines for people.'),
    project: z.string().describe('The folder of the project.'),
    chain: text('Name of the chain, if it has one.'),
    step: z
      .object({ number: z.int().min(1), agent: z.string(), name: z.string().optional() })
      .optional()
      .describe('The step that it is about.'),
    reason: text('Why it happened.'),
    next: text('The command that continues, or ends the wait.'),
    spent,
  })
  .optional()
  .describe('The event for people: only in what hooks and notifications get.')

export const unmarked = flag(
  'True if a planner printed no marker and the chain continues with its tasks.',
)

export const ends = z.object({
  reason,
  unmarked,
  detail: text('The reason as text.'),
  cause,
})

export const changes = z
  .object({
    head: text('The commit at the end.'),
    commits: z.int().min(0),
    files: z.array(z.string()).describe('Changed files, at most 100.'),
    fileCount: z.int().min(0),
  })
  .describe('What an iteration changed in the git repository.')

export const usage = z
  .object({
    session: text('Session id of the agent.'),
    model: z.string().optional(),
    turns: z.int().optional(),
    costUsd: z.number().optional().describe('The cost that the agent reported.'),
    billing: billing.optional(),
    tokens: tokens.optional(),
    denied: integer('How many tool calls were denied.'),
  })
  .describe('Usage of an iteration, as far as the agent reports it.')

export const parent = text('The tool call of the sub-agent that it belongs to.')
