import type { EventOf } from '../records/events/event.ts'
import { counted } from '../base/amounts.ts'
import { shellWord } from '../base/shell-quote.ts'
import { printable } from '../base/terminal/printable.ts'
import { formatDuration } from '../base/durations.ts'
import { localTime } from '../base/local-time.ts'
import { oneLine } from '../base/shorten.ts'
import type { EndCause, Lacks, Reason, Refusal } from '../records/events/schema.ts'
import { describeOutcome } from '../records/events/describe-outcome.ts'
import type { RunState } from '../records/events/state.ts'
import { isComplete, type StepState } from '../records/events/step-state.ts'

export const REFUSALS: Record<Refusal, string> = {
  code_fence: 'inside a code fence',
  longer_line: 'inside a longer line',
  quotes: 'in quotes',
  letter_case: 'not in upper case',
  no_colon: 'no colon after ORCHESTRA_BLOCKED',
  stderr: 'on stderr',
  tasks_ready: 'tasks are still ready',
  task_open: 'its task is not done',
  gate: 'a check failed',
}

/** `step`, `agent default, file prompts/x.md`, `none`. */
export function describeSource(source: EventOf<'iteration_started'>['prompt']): string {
  if (source === undefined) return 'none'
  return source.file === undefined ? source.level : `${source.level}, file ${source.file}`
}

/** `Running: lint`, `Starting: build (max 3 iterations, 2nd time)`. */
export function describeStart(
  { maxIterations, round }: Pick<EventOf<'step_started'>, 'maxIterations' | 'round'>,
  name: string,
): string {
  const details = [
    ...(maxIterations === undefined ? [] : [`max ${counted(maxIterations, 'iteration')}`]),
    ...(round === undefined ? [] : [`${ordinal(round)} time`]),
  ]
  const begin = maxIterations === undefined ? 'Running' : 'Starting'
  return `${begin}: ${name}${details.length === 0 ? '' : ` (${details.join(', ')})`}`
}

function ordinal(count: number): string {
  const isTeen = count % 100 > 10 && count % 100 < 14
  return `${count}${(isTeen ? undefined : ['th', 'st', 'nd', 'rd'][count % 10]) ?? 'th'}`
}

/** `complete (2/3 iterations, marker)`, `incomplete (exit 3)`, `not started`. */
export function describeStep(step: StepState): string {
  if (step.isUnmarked === true)
    return `${describeCount(step)} without the marker; continued because ${step.detail}`
  if (isNotStarted(step)) return `not started: ${step.detail}`
  if (step.isPassed) return `skipped (${step.detail})`
  if (step.reason === undefined || step.reason === 'skipped') return 'not started'
  const state = isComplete(step.reason) ? 'complete' : 'incomplete'
  const more = step.detail === undefined ? '' : `; ${step.detail}`
  if (step.reason === 'single_run') return `${state} (exit 0${more})`
  if (step.maxIterations === undefined) return `${state} (${describeFailure(step)})`
  const why = step.reason === 'marker' ? `marker${more}` : (step.detail ?? 'max iterations reached')
  return `${state} (${describeCount(step)}, ${why})`
}

/** `2/3 iterations`; an iteration that is repeated does not count. */
export function describeCount(step: StepState): string {
  return `${countIterations(step)}/${counted(step.maxIterations ?? 1, 'iteration')}`
}

/** The number of iterations of a step; one that is repeated does not count. */
export function countIterations({ iterations: count, isAgain }: StepState): number {
  return isAgain ? count - 1 : count
}

/** Whether a step ended before its first iteration, because there was nothing to do. */
export function isNotStarted({ reason, iterations: count }: StepState): boolean {
  return reason === 'until' && count === 0
}

/** Reasons that the detail does not make clear. */
const NAMED: Partial<Record<Reason, string>> = {
  blocked: 'blocked',
  stalled: 'stalled',
  quota: 'quota',
  auth: 'auth',
  timeout: 'timeout',
  gate_failed: 'gate failed',
  cancelled: 'cancelled',
  error: 'error',
}

/** The text in the parentheses of `Failed at step 2: builder (…)`, such as `blocked: no key`. */
export function describeReason(step: StepState): string {
  const name = NAMED[step.reason ?? 'skipped']
  const words = describeFailure(step)
  return name === undefined || words === step.reason ? words : `${name}: ${words}`
}

/** Like `describeReason`, without the name of the reason. */
export function describeFailure(step: StepState): string {
  if (step.reason === 'max_iterations') {
    return `max iterations reached, ${step.iterations}/${step.maxIterations}`
  }
  return step.detail ?? step.reason ?? ''
}

/** Shows that the agent itself failed, instead of only not completing the work. */
export function describeFailing({ failures, iterations: count, lastFailure }: StepState): string {
  const last = lastFailure === undefined ? '' : `; last failure: ${describeOutcome(lastFailure)}`
  return `The agent failed in ${failures} of ${counted(count, 'iteration')}${last}`
}

/** `[Read] src/main.ts`. */
export function describeTool({ name, brief }: Pick<EventOf<'tool'>, 'name' | 'brief'>): string {
  return printable(`[${name}] ${brief}`).trimEnd()
}

/** `Usage limit (five_hour): rejected, resets at 2026-01-20 10:00`. */
export function describeLimit({ status, kind, resetsAt, utilization }: EventOf<'limit'>): string {
  const which = kind === undefined ? '' : ` (${kind})`
  const used = utilization === undefined ? '' : `, ${Math.round(utilization * 100)} % used`
  const when = resetsAt === undefined ? '' : `, resets at ${localTime(resetsAt * 1000)}`
  return `Usage limit${which}: ${status}${used}${when}`
}

/** What to do, by the exact cause of the end. */
const ADVICE: Partial<Record<EndCause, string>> = {
  tasks_missing: 'Look for the files with git status and git stash list, restore them, then resume',
  tasks_archived:
    'Bring archived tasks back with forge-tasks unarchive ID, or delete those that are not needed, then resume',
  tasks_unclaimed:
    'Release the tasks in progress with forge-tasks release ID (list them with forge-tasks list -s "In Progress"), then resume',
  tasks_unreadable: 'Find the unreadable task files with forge-tasks doctor, fix them, then resume',
  tasks_left:
    'See what each task waits for with forge-tasks list --ready --explain, open one with forge-tasks edit ID --status todo, then resume',
  no_tasks: 'Create some with forge-tasks create, then resume',
  task_open: 'See how far each task is with forge-tasks list, then resume',
  check_failed: 'Run the check yourself, fix what it reports, then resume',
  verify_broken: adviceForCommand('--verify'),
  until_broken: adviceForCommand('--until'),
  when_broken:
    'Run the condition yourself with /bin/sh in the folder of the run, fix it, then resume',
}

/** The prompt may mention tasks although the agent is not a builder. */
function buildTheRest(agent: string): string {
  const unless = `; if '${agent}' does not build from tasks, set "tasks": false in its configuration`
  return `Resume to build the rest, or start with more iterations${/^(?:fk:)?builder$/.test(agent) ? '' : unless}`
}

/** `Deleted during step 1 (builder): TASK-001`; undefined if no open task was deleted. */
export function describeDeletedTasks({ number, agent, deletedTasks = [] }: StepState) {
  if (deletedTasks.length === 0) return undefined
  return `Deleted during step ${number} (${agent}): ${deletedTasks.join(', ')}`
}

const MOST_BLOCKED = 3

/** `TASK-002 is blocked; see why: forge-tasks view TASK-002`, for the tasks that block a step. */
export function describeBlockedTasks({ reason, blockedTasks = [] }: StepState): string[] {
  if (reason !== 'blocked') return []
  const more = blockedTasks.length - MOST_BLOCKED
  return [
    ...blockedTasks
      .slice(0, MOST_BLOCKED)
      .map((id) => `${id} is blocked; see why: forge-tasks view ${id}`),
    ...(more > 0 ? [`${more} more are blocked; see: forge-tasks list --status blocked`] : []),
  ]
}

function adviceForCommand(option: string): string {
  return `Check that the program exists and is executable: the command runs with /bin/sh in the folder of the run. To use another one: forkhestra resume ${option} COMMAND`
}

const NO_MARKER =
  'The agent never printed ORCHESTRA_COMPLETE on its own line, which completes a loop; see docs/reference/marker.md'

const CHECK_IN_WORKTREE =
  'Run the check in a clean clone, fix what it reports, then resume; if it needs ignored files: forkhestra resume --verify "SETUP && CHECK"'

/**
 * What to do next, unless the reason makes it obvious. `maybeMarked`: a marker was seen, or none is needed;
 * `isInBranch`: the step has worked in its own worktree.
 */
export function adviceFor(
  { agent, reason, detail, cause, lastOutcome, failures }: StepState,
  { maybeMarked, isInBranch }: { readonly maybeMarked: boolean; readonly isInBranch: boolean },
): string | undefined {
  if (cause === 'tasks_ready') return buildTheRest(agent)
  const advice = cause === 'check_failed' && isInBranch ? CHECK_IN_WORKTREE : cause && ADVICE[cause]
  switch (reason) {
    case 'error':
      return lastOutcome?.kind === 'spawn_failed' ? lastOutcome.hint : advice
    case 'auth':
      return 'See what is missing: forkhestra doctor'
    case 'blocked':
    case 'gate_failed':
      return advice
    case 'max_iterations':
      return detail !== undefined || failures > 0 || maybeMarked ? undefined : NO_MARKER
    case 'stalled':
      return (
        advice ??
        'Read the output of the last iterations; a clearer prompt, a smaller task or --stall 0 may help'
      )
    case 'quota':
      return 'Resume after the reset; to wait longer next time, set "maxWait" in the configuration'
    case 'conflict':
      return 'Resume to let the agent try again, or merge the branch yourself'
    case 'cancelled':
      return 'Fix the branch that failed, then resume'
    case 'timeout':
      return 'To allow more time: --timeout or --idle-timeout'
    default:
      return undefined
  }
}

/** `Waiting for the limit to reset, 1 h 02 min left, until 2026-01-20 17:00: …`. */
export function describeWait({ why, until, error }: EventOf<'waiting'>, now: number): string {
  const left = Math.max(0, Date.parse(until) - now)
  const what = why === 'quota' ? 'for the limit to reset' : 'before the next attempt'
  const words = oneLine(error).slice(0, 200)
  return `Waiting ${what}, ${formatDuration(left)} left, until ${localTime(until)}: ${words}`
}

/** The option that a command needs if the run is not in the reader's folder. */
export function cwdOption(cwd: string | undefined, here: string | undefined): string {
  if (cwd === undefined || here === undefined || cwd === here) return ''
  return ` --cwd ${shellWord(cwd)}`
}

/** The options that raise a spent budget, without which a resume would end at once. */
const MORE_BUDGET: Partial<Record<EndCause, string>> = {
  cost: ' --max-cost …',
  tokens: ' --max-tokens …',
  time: ' --max-duration …',
}

/** The options that a resume needs, and why; undefined if the record does not contain enough. */
export function describeResumeOptions({ lacks }: RunState, step: StepState | undefined) {
  if (lacks !== undefined && lacks.prompt !== true) return undefined
  const budget = (step?.reason === 'budget' && step.cause && MORE_BUDGET[step.cause]) || ''
  if (lacks === undefined) return { options: budget, why: '' }
  const why = `, with the same text: ${describeMissingSecrets(lacks)}`
  return { options: ` --prompt TEXT${budget}`, why }
}

/** Says which secrets are missing from the record of a run. */
export function describeMissingSecrets({ what }: Lacks): string {
  return `the record does not contain ${what.join(', ')}`
}
