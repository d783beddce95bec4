import { z } from 'zod'
import {
  changes,
  ends,
  failureClass,
  inIteration,
  inRun,
  inStep,
  inTask,
  lacks,
  leftInQueue,
  notQueued,
  leftover,
  ofTask,
  outcome,
  parent,
  promptSource,
  reason,
  refusal,
  spent,
  unmarked,
  usage,
  worktree,
} from './schema-parts.ts'

// The one vocabulary of what happened, as it stands in `--json` and in the journal. Only tests and
// the schema generator load this file at run time; the rest of the house uses the types.

const promptCommand = z
  .looseObject({ kind: z.enum(['read', 'push', 'run']), line: z.int() })
  .describe('A command of a prompt, with what else it says.')

const openTasks = z.array(z.string()).optional()

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
          name: z.string().optional().describe('What people call it.'),
          maxIterations: z.int().optional().describe('Absent where the agent runs once.'),
          isRecovery: z.boolean().optional().describe('True where it runs only if another fails.'),
        }),
      )
      .describe('The steps to come, in short.'),
    lacks: lacks.optional(),
    plan: z.looseObject({}).describe('The complete plan; its form may change.'),
  }),
  z.object({
    type: z.literal('run_resumed'),
    ...inRun,
    version: z.string().describe('Version of forkhestra.'),
    pid: z.int(),
    step: z.int().min(1).optional().describe('Where it goes on; absent: all steps have ended.'),
    iteration: z.int().min(1).optional().describe('The iteration that is carried out next.'),
    lacks: lacks.optional(),
    plan: z.looseObject({}).optional().describe('The plan, where options have changed it.'),
  }),
  z.object({
    type: z.literal('step_started'),
    ...inStep,
    agent: z.string(),
    maxIterations: z.int().optional().describe('Absent where the agent runs once.'),
    openTasks: openTasks.describe('The open tasks, for an agent that builds from them.'),
  }),
  z.object({
    type: z.literal('iteration_started'),
    ...inIteration,
    pid: z
      .int()
      .optional()
      .describe('Absent where the agent has no process, or could not be started.'),
    argv: z.array(z.string()).optional().describe('The exact command.'),
    prompt: promptSource.optional().describe('Where the prompt came from; absent: no prompt.'),
    promptHash: z.string().optional().describe('SHA-256 of the prompt.'),
  }),
  z.object({
    type: z.literal('command'),
    ...inStep,
    iteration: z.int().min(1).optional(),
    role: z
      .enum([
        'verify',
        'until',
        'when',
        'beforeStep',
        'afterIteration',
        'afterStep',
        'afterRun',
        'onWait',
      ])
      .describe('What the command of the configuration is for.'),
    step: z.int().min(1).optional().describe('Absent where it belongs to the whole chain.'),
    command: z.string(),
    result: z.enum(['ok', 'failed', 'broken']).describe('broken: it could not be run.'),
    detail: z.string().describe('How it went, in words.'),
    ms: z.int().describe('Duration.'),
    tail: z.string().optional().describe('The end of what it printed, where it did not succeed.'),
  }),
  z.object({
    type: z.literal('waiting'),
    ...inIteration,
    task: ofTask,
    why: z.enum(['quota', 'retry']),
    until: z.iso.datetime().describe('When it goes on.'),
    error: z.string().describe('What the agent said.'),
  }),
  z.object({
    type: z.literal('waited'),
    ...inIteration,
    task: ofTask,
    ms: z.int(),
    cause: z.enum(['over', 'retry_now', 'stopped']).describe('What ended it.'),
  }),
  z.object({
    type: z.literal('jump'),
    ...inStep,
    to: z.int().min(1).describe('The step that comes next.'),
    count: z.int().min(1).describe('How often this step has sent the run back.'),
    times: z.int().min(1).describe('How often it may.'),
  }),
  z.object({
    type: z.literal('output'),
    ...inIteration,
    task: ofTask,
    stream: z.enum(['out', 'err']),
    text: z.string().optional().describe('What the agent printed (in --json).'),
    log: z.string().optional().describe('Log that holds the bytes (in the journal).'),
    offset: z.int().optional().describe('Where they begin in the output of the iteration.'),
    bytes: z.int().optional().describe('How many they are.'),
  }),
  z.object({
    type: z.literal('message'),
    ...inIteration,
    task: ofTask,
    text: z.string(),
    parent,
  }),
  z.object({
    type: z.literal('tool'),
    ...inIteration,
    task: ofTask,
    name: z.string(),
    brief: z.string().describe('What it is called for, in one line.'),
    parent,
  }),
  z.object({
    type: z.literal('tool_ended'),
    ...inIteration,
    task: ofTask,
    name: z.string(),
    ms: z.int().describe('Duration.'),
    error: z.string().optional().describe('Why it did not do what it was called for.'),
    diff: z.string().optional().describe('What it has changed, as a unified diff.'),
  }),
  z.object({
    type: z.literal('limit'),
    ...inIteration,
    task: ofTask,
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
    again: z.boolean().optional().describe('True where it does not count and is repeated.'),
    ends: ends.optional().describe('Where the step ends with it: how.'),
    changes: changes.optional(),
    tasks: z.array(z.string()).optional().describe('Tasks that the agent worked at.'),
    changedTasks: z
      .boolean()
      .optional()
      .describe('True where a planner created or changed tasks of forge-tasks.'),
    openTasks: openTasks.describe('Open tasks that no earlier event of the step names.'),
    fingerprint: z.string().optional().describe('By what progress is recognised.'),
    idle: z.int().min(0).optional().describe('Iterations without progress up to here.'),
    feedback: z.string().optional().describe('What the next prompt says of a gate that refused.'),
  }),
  z.object({
    type: z.literal('step_ended'),
    ...inStep,
    agent: z.string(),
    reason,
    iterations: z.int().min(0),
    failures: z.int().min(0).describe('How many of them ended with an error of the agent.'),
    detail: z.string().optional().describe('The same in words for people.'),
    passed: z.boolean().optional().describe('True where it was skipped on a condition.'),
    unmarked,
    deletedTasks: z
      .array(z.string())
      .optional()
      .describe('Open tasks that were deleted during the step.'),
    spent: spent.optional(),
  }),
  z.object({
    type: z.literal('phase_ended'),
    ...inStep,
    phase: z.enum(['setup', 'teardown']).describe('Before the agent, or after it.'),
    pushed: z.array(z.string()).describe('Names of the tasks that were queued.'),
    started: z.array(z.string()).describe('Names of the tasks that were started.'),
    held: z.int().min(0).describe('How many stay queued because no more may run.'),
    notQueued: z.array(notQueued).optional(),
  }),
  z.object({
    type: z.literal('task_started'),
    ...inTask,
    parent: z.string().describe('The agent that has queued it.'),
    agent: z.string(),
    isStructured: z.boolean().optional().describe('True where events tell what it prints.'),
    pid: z
      .int()
      .optional()
      .describe('Absent where the agent has no process, or could not be started.'),
    argv: z.array(z.string()).optional().describe('The exact command.'),
    promptHash: z.string().optional().describe('SHA-256 of the prompt.'),
    worktree: worktree.optional(),
  }),
  z.object({
    type: z.literal('task_ended'),
    ...inTask,
    parent: z.string().optional().describe('As in task_started; absent as agent is.'),
    agent: z.string().optional().describe('Absent where its worker was lost.'),
    success: z.boolean(),
    class: failureClass.optional(),
    error: z.string().optional(),
    again: z.boolean().optional().describe('True where it is tried again.'),
    ms: z.int().describe('Duration.'),
    outputBytes: z.int().describe('What the agent printed, on both streams.'),
    usage: usage.optional(),
    worktree: worktree.optional(),
    notQueued: z.array(notQueued).optional(),
  }),
  z.object({
    type: z.literal('crew_started'),
    ...inRun,
    version: z.string().describe('Version of forkhestra.'),
    pid: z.int().describe('Works off the queue of a run that is not carried out any more.'),
  }),
  z.object({
    type: z.literal('crew_ended'),
    ...inRun,
    queued: z.int().min(0).describe('How many tasks wait to be started.'),
    names: z.array(z.string()).describe('Of those, at most 20 of them.'),
  }),
  z.object({ type: z.literal('warning'), ...inRun, text: z.string() }),
  z.object({
    type: z.literal('record_lost'),
    ...inRun,
    why: z.string().describe('Why the run goes on without a record.'),
    partly: z.boolean().optional().describe('True where only what came last is not in it.'),
  }),
  z.object({
    type: z.literal('run_ended'),
    ...inRun,
    ok: z.boolean(),
    exitCode: z.int(),
    stopped: z
      .object({
        signal: z
          .enum(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])
          .optional()
          .describe('Absent where forkhestra stop asked for it.'),
        words: z.string(),
      })
      .optional()
      .describe('What stopped the run before its end.'),
    leftovers: z.array(leftover).describe('Processes that the agents left running, now ended.'),
    spent: spent.optional(),
    uncommitted: z
      .int()
      .optional()
      .describe('How many files the run changed and left uncommitted; absent: none, or unknown.'),
    queue: leftInQueue.optional(),
  }),
  z.object({
    type: z.literal('dry_run'),
    ...inRun,
    steps: z
      .array(
        z.object({
          step: z.int().min(1),
          agent: z.string(),
          name: z.string().optional().describe('What people call it.'),
          kind: z.string().describe('How the agent is called: binary, claude or native.'),
          agentFile: z.string().optional().describe('The file of Claude Code that defines it.'),
          maxIterations: z.int().optional().describe('Absent where the agent runs once.'),
          args: z.array(z.string()),
          prompt: z.object({ text: z.string(), source: promptSource }).optional(),
          argv: z.array(z.string()),
          queueTools: z.boolean().optional().describe('True: it gets queue and inbox as tools.'),
          buildsFromTasks: z
            .boolean()
            .optional()
            .describe('True: its marker counts only once no task of forge-tasks is ready.'),
          phases: z
            .object({ setup: z.array(promptCommand), teardown: z.array(promptCommand) })
            .optional()
            .describe('What the prompt does before and after the agent; absent: nothing.'),
          policy: z
            .looseObject({})
            .optional()
            .describe('Limits, gates and what happens on failure; its form may change.'),
          isRecovery: z.boolean().optional().describe('True where it runs only if another fails.'),
        }),
      )
      .describe('What would run.'),
    chain: z
      .looseObject({})
      .optional()
      .describe('What holds for the chain as a whole: budget, when, hooks.'),
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
export type Spent = z.infer<typeof spent>
export type Usage = z.infer<typeof usage>
export type Changes = z.infer<typeof changes>
export type Worktree = z.infer<typeof worktree>
export type Lacks = z.infer<typeof lacks>
export type LeftInQueue = z.infer<typeof leftInQueue>
export type NotQueued = z.infer<typeof notQueued>
/** Why a step ends. */
export type End = z.infer<typeof ends>
