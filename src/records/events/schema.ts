import { z } from 'zod'
import { flag, integer, text, texts } from './schema-parts.ts'
import * as part from './schema-parts.ts'

// All events, as in `--json` and in the journal. Only tests and the schema generator load this file at
// run time; all other code uses the types.

const promptCommand = z
  .looseObject({ kind: z.enum(['read', 'push', 'run']), line: z.int() })
  .describe('A command of a prompt, with its other fields.')

const openTasks = z.array(z.string()).optional()

const stepSummary = {
  step: z.int().min(1),
  agent: z.string(),
  name: text('Display name.'),
  maxIterations: integer('Absent if the agent runs once.'),
  isRecovery: flag('True if it runs only if another fails.'),
  within: text('Id of the group that contains it; absent at the top.'),
  copies: z.int().min(2).optional().describe('How many copies run in parallel.'),
}

const groupSummary = z.object({
  id: z.string(),
  kind: z.enum(['sequence', 'parallel', 'fallback']),
  name: text('Display name.'),
  within: stepSummary.within,
  first: z.int().min(1).describe('Number of its first step.'),
  last: z.int().min(1).describe('Number of its last step.'),
  maxRounds: integer('Absent if it is not repeated.'),
  copies: stepSummary.copies,
})

const launch = {
  pid: integer('Absent if the agent has no process, or could not be started.'),
  argv: texts('The exact command.'),
  promptHash: text('SHA-256 of the prompt.'),
}

const work = {
  ms: z.int().describe('Duration.'),
  outputBytes: z.int().describe('Bytes that the agent printed, on both streams.'),
  usage: part.usage.optional(),
}

const ofCommand = {
  ...part.inStep,
  iteration: z.int().min(1).optional(),
  role: z
    .enum([
      'verify',
      'until',
      'when',
      'setup',
      'beforeStep',
      'afterIteration',
      'afterStep',
      'afterRun',
      'onWait',
    ])
    .describe('Purpose of the command in the configuration.'),
  step: z.int().min(1).optional().describe('Absent if it belongs to the whole chain.'),
  command: z.string(),
}

export const eventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('run_started'),
    ...part.inRun,
    schema: z.literal(1).describe('Version of the event format.'),
    version: z.string().describe('Version of forkhestra.'),
    pid: z.int(),
    cwd: z.string(),
    chain: text('Name of the chain, if it has one.'),
    record: text('Folder with the record of the run.'),
    outerRun: text('Id of the run whose agent started this one.'),
    steps: z.array(z.object(stepSummary)).describe('Summary of the steps.'),
    groups: z.array(groupSummary).optional().describe('Summary of the groups; absent if none.'),
    lacks: part.lacks.optional(),
    plan: z.looseObject({}).describe('The complete plan; its format may change.'),
  }),
  z.object({
    type: z.literal('run_resumed'),
    ...part.inRun,
    version: z.string().describe('Version of forkhestra.'),
    pid: z.int(),
    step: z
      .int()
      .min(1)
      .optional()
      .describe('The step it continues with; absent if all steps have ended.'),
    iteration: z.int().min(1).optional().describe('The next iteration.'),
    lacks: part.lacks.optional(),
    lostMs: z
      .number()
      .optional()
      .describe('How long the previous process worked after its last event, if it was killed.'),
    plan: z.looseObject({}).optional().describe('The plan, if options have changed it.'),
  }),
  z.object({
    type: z.literal('group_started'),
    ...part.inGroup,
  }),
  z.object({
    type: z.literal('group_ended'),
    ...part.inGroup,
    reason: part.reason,
    detail: text('The reason as text.'),
    passed: flag('True if it was skipped by a condition.'),
    spent: part.spent.optional(),
  }),
  z.object({
    type: z.literal('branch_started'),
    ...part.inBranch,
    path: z.string().describe('Its worktree.'),
    base: z.string().describe('The commit it starts from.'),
    into: z.string().describe('The git branch that it is merged into.'),
    setup: text('The command that prepares the new worktree.'),
  }),
  z.object({
    type: z.literal('merge_started'),
    ...part.inBranch,
    tip: z.string().describe('The commit that is handed in.'),
    onto: z.string().describe('The commit that it is rebased onto or merged into.'),
    checks: z.array(z.string()).optional().describe('The commands that must succeed there.'),
  }),
  z.object({
    type: z.literal('merge_moving'),
    ...part.inRun,
    into: z.string().describe('The git branch that is about to move.'),
    from: z.string(),
    to: z.string(),
    merges: z
      .array(
        z.object({
          scope: z.array(z.string()),
          branch: z.string(),
          tip: z.string(),
          commit: z.string(),
          commits: z.int().optional(),
          copies: part.copies,
        }),
      )
      .describe('The branches that the new commit contains; the checks have passed.'),
    copies: part.copies.optional().describe('Merged commits that had to be copied again.'),
  }),
  z.object({
    type: z.literal('merge_ended'),
    ...part.inBranch,
    result: z.enum(['merged', 'conflict', 'gate_failed', 'error']),
    tip: z.string().describe('The commit that was handed in.'),
    commit: text('The commit that contains it, if it was merged.'),
    commits: integer('How many commits of the branch are new in it.'),
    copies: part.copies.optional(),
    aside: text('Why it is on a branch of the run and not yet on the target branch.'),
    files: texts('Files with conflicts.'),
    detail: text('Why it was not merged, as text.'),
    cause: part.cause,
    feedback: text('What the next prompt says about it.'),
  }),
  z.object({
    type: z.literal('branch_ended'),
    ...part.inBranch,
    path: z.string().describe('Its worktree.'),
    kept: text('Why it still exists; absent if it was removed.'),
    hasCommits: flag('True if it has unmerged commits.'),
  }),
  z.object({
    type: z.literal('step_started'),
    ...part.inStep,
    notice: part.notice,
    agent: z.string(),
    maxIterations: integer('Absent if the agent runs once.'),
    when: text('The condition that decides whether the agent starts.'),
    openTasks: openTasks.describe('The open tasks, if the agent builds from tasks.'),
  }),
  z.object({
    type: z.literal('iteration_started'),
    ...part.inIteration,
    ...launch,
    prompt: part.promptSource.optional().describe('Source of the prompt; absent without a prompt.'),
  }),
  z.object({
    type: z.literal('claimed'),
    ...part.inIteration,
    id: z.string().describe('The task of forge-tasks that the agent has claimed.'),
    title: z.string().optional(),
  }),
  z.object({ type: z.literal('command_started'), ...ofCommand }),
  z.object({
    type: z.literal('command'),
    ...ofCommand,
    result: z.enum(['ok', 'failed', 'broken']).describe('broken: it could not be run.'),
    detail: z.string().describe('The result as text.'),
    ms: z.int().describe('Duration.'),
    tail: text('The end of its output, if it did not succeed.'),
  }),
  z.object({
    type: z.literal('awaiting_task'),
    ...part.inIteration,
  }),
  z.object({
    type: z.literal('waiting'),
    ...part.inIteration,
    notice: part.notice,
    task: part.ofTask,
    why: z.enum(['quota', 'retry']),
    until: z.iso.datetime().describe('When it continues.'),
    error: z.string().describe('The message of the agent.'),
  }),
  z.object({
    type: z.literal('waited'),
    ...part.inIteration,
    task: part.ofTask,
    ms: z.int(),
    cause: z.enum(['over', 'retry_now', 'stopped']).describe('What ended the wait.'),
  }),
  z.object({
    type: z.literal('jump'),
    ...part.inStep,
    group: text('Id of the group that failed; absent for a step.'),
    to: z.int().min(1).describe('The next step, or the first step of the next group.'),
    count: z.int().min(1).describe('How many times this step has sent the run back.'),
    times: z.int().min(1).describe('How many times it may send the run back.'),
  }),
  z.object({
    type: z.literal('output'),
    ...part.inIteration,
    task: part.ofTask,
    stream: z.enum(['out', 'err']),
    text: text('The text that the agent printed (in --json).'),
    log: text('Log that contains the bytes (in the journal).'),
    offset: integer('Offset of the bytes in the output of the iteration.'),
    bytes: integer('Number of bytes.'),
  }),
  z.object({
    type: z.literal('message'),
    ...part.inIteration,
    task: part.ofTask,
    text: z.string(),
    parent: part.parent,
  }),
  z.object({
    type: z.literal('tool'),
    ...part.inIteration,
    task: part.ofTask,
    name: z.string(),
    brief: z.string().describe('The call in one line.'),
    parent: part.parent,
  }),
  z.object({
    type: z.literal('tool_ended'),
    ...part.inIteration,
    task: part.ofTask,
    name: z.string(),
    ms: z.int().describe('Duration.'),
    error: text('Why the call failed.'),
    diff: text('Its changes, as a unified diff.'),
    parent: part.parent,
  }),
  z.object({
    type: z.literal('limit'),
    ...part.inIteration,
    task: part.ofTask,
    status: z.string().describe('allowed, allowed_warning or rejected.'),
    resetsAt: z.number().optional().describe('Unix time in seconds.'),
    kind: text('Which quota.'),
    utilization: z.number().optional().describe('From 0 to 1.'),
  }),
  z.object({ type: z.literal('marker_refused'), ...part.inIteration, why: part.refusal }),
  z.object({
    type: z.literal('iteration_ended'),
    ...part.inIteration,
    notice: part.notice,
    outcome: part.outcome,
    exitCode: integer('Exit code of the agent, if it exited and the outcome is not `exited`.'),
    ...work,
    again: flag('True if it does not count and is repeated.'),
    ends: part.ends.optional().describe('How the step ends, if this iteration ends it.'),
    changes: part.changes.optional(),
    tasks: texts('Tasks that the agent worked on.'),
    changedTasks: flag('True if a planner created or changed tasks of forge-tasks.'),
    openTasks: openTasks.describe('Open tasks that no earlier event of the step lists.'),
    fingerprint: text('Changes when there is progress.'),
    idle: z.int().min(0).optional().describe('Iterations without progress so far.'),
    feedback: text('What the next prompt says about a failed gate.'),
    tip: text('The last commit of its branch.'),
    handsIn: flag('True if the work of the branch is merged before anything else happens in it.'),
  }),
  z.object({
    type: z.literal('step_ended'),
    ...part.inStep,
    notice: part.notice,
    agent: z.string(),
    reason: part.reason,
    iterations: z.int().min(0),
    failures: z.int().min(0).describe('How many iterations ended with an error of the agent.'),
    detail: text('The reason as text.'),
    cause: part.cause,
    passed: flag('True if it was skipped by a condition.'),
    unmarked: part.unmarked,
    deletedTasks: texts('Open tasks that were deleted during the step.'),
    blockedTasks: texts('Tasks with the status Blocked, if they are why the step is blocked.'),
    spent: part.spent.optional(),
  }),
  z.object({
    type: z.literal('phase_ended'),
    ...part.inStep,
    phase: z.enum(['setup', 'teardown']).describe('Before the agent, or after it.'),
    pushed: z.array(z.string()).describe('Names of the tasks that were queued.'),
    started: z.array(z.string()).describe('Names of the tasks that were started.'),
    held: z
      .int()
      .min(0)
      .describe('How many stay queued because the limit of running tasks is reached.'),
    notQueued: z.array(part.notQueued).optional(),
  }),
  z.object({
    type: z.literal('task_started'),
    ...part.inTask,
    parent: z.string().describe('The agent that queued it.'),
    agent: z.string(),
    isStructured: flag('True if events report its output.'),
    ...launch,
    worktree: part.worktree.optional(),
  }),
  z.object({
    type: z.literal('task_ended'),
    ...part.inTask,
    parent: text('As in task_started; absent if its worker was lost.'),
    agent: text('Absent if its worker was lost.'),
    success: z.boolean(),
    class: part.failureClass.optional(),
    error: z.string().optional(),
    again: flag('True if it is retried.'),
    ...work,
    worktree: part.worktree.optional(),
    notQueued: z.array(part.notQueued).optional(),
  }),
  z.object({
    type: z.literal('crew_started'),
    ...part.inRun,
    version: z.string().describe('Version of forkhestra.'),
    pid: z
      .int()
      .describe('The process that works on the queue of a run whose steps are not running.'),
  }),
  z.object({
    type: z.literal('crew_ended'),
    ...part.inRun,
    queued: z.int().min(0).describe('How many tasks are waiting to start.'),
    names: z.array(z.string()).describe('Names of the waiting tasks, at most 20.'),
  }),
  z.object({ type: z.literal('warning'), ...part.inRun, text: z.string() }),
  z.object({
    type: z.literal('record_lost'),
    ...part.inRun,
    why: z.string().describe('Why the run continues without a record.'),
    partly: flag('True if only the last events are missing from it.'),
  }),
  z.object({
    type: z.literal('run_ended'),
    ...part.inRun,
    notice: part.notice,
    ok: z.boolean(),
    exitCode: z.int(),
    stopped: z
      .object({
        signal: z
          .enum(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])
          .optional()
          .describe('Absent after `forkhestra stop`.'),
        words: z.string(),
      })
      .optional()
      .describe('What stopped the run early.'),
    unhandled: flag('True if it was stopped before it could handle the failure of its last step.'),
    leftovers: z
      .array(part.leftover)
      .describe('Processes that the agents left running and forkhestra ended.'),
    spent: part.spent.optional(),
    aside: z
      .array(part.asideWork)
      .optional()
      .describe('Merged work that is not on its target branch; absent if none.'),
    uncommitted: integer(
      'How many files the run changed and left uncommitted; absent if none or unknown.',
    ),
    queue: part.leftInQueue.optional(),
  }),
  z.object({
    type: z.literal('dry_run'),
    ...part.inRun,
    steps: z
      .array(
        z.object({
          ...stepSummary,
          kind: z.string().describe('How the agent is run: binary, claude or native.'),
          agentFile: text('The Claude Code file that defines it.'),
          args: z.array(z.string()),
          prompt: z.object({ text: z.string(), source: part.promptSource }).optional(),
          argv: z.array(z.string()),
          queueTools: flag('True if it gets queue and inbox as tools.'),
          buildsFromTasks: flag(
            'True if its marker counts only when no task of forge-tasks is ready.',
          ),
          phases: z
            .object({ setup: z.array(promptCommand), teardown: z.array(promptCommand) })
            .optional()
            .describe('What the prompt does before and after the agent; absent if nothing.'),
          branch: part.branchPlan,
          policy: z
            .looseObject({})
            .optional()
            .describe('Limits, gates and what happens on failure; its format may change.'),
        }),
      )
      .describe('What would run.'),
    groups: z
      .array(groupSummary.extend({ branch: part.branchPlan }))
      .optional()
      .describe('Summary of the groups; absent if none.'),
    chain: z
      .looseObject({})
      .optional()
      .describe('Settings of the whole chain: budget, when, hooks, notify, maxParallel, branch.'),
  }),
  z.object({
    type: z.literal('run_refused'),
    ...part.inRun,
    exitCode: z.int(),
    message: z.string(),
    hint: z.string().optional(),
  }),
])

export type RunEvent = z.infer<typeof eventSchema>
export type GroupSummary = z.infer<typeof groupSummary>
export type Outcome = z.infer<typeof part.outcome>
/** Why an agent may not spend any more. */
export type BudgetSpent = Omit<Extract<Outcome, { kind: 'budget' }>, 'kind'>
export type Reason = z.infer<typeof part.reason>
export type EndCause = NonNullable<z.infer<typeof part.cause>>
export type Refusal = z.infer<typeof part.refusal>
export type Leftover = z.infer<typeof part.leftover>
export type AsideWork = z.infer<typeof part.asideWork>
export type Spent = z.infer<typeof part.spent>
export type Notice = NonNullable<z.infer<typeof part.notice>>
export type Usage = z.infer<typeof part.usage>
export type GitChanges = z.infer<typeof part.changes>
export type Worktree = z.infer<typeof part.worktree>
export type Lacks = z.infer<typeof part.lacks>
export type LeftInQueue = z.infer<typeof part.leftInQueue>
export type NotQueued = z.infer<typeof part.notQueued>
export type End = z.infer<typeof part.ends>
