import { UserError } from '../../base/errors.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { readReceipt, type Receipt } from '../../records/journal/receipt.ts'
import { renderRun } from '../../views/show.ts'
import type { IterationBrief, StepDetails } from '../../views/show-steps.ts'
import type { FailedTask, ShownTasks } from '../../views/show-tasks.ts'
import { UsageError, type Input } from '../command.ts'
import { describeWithReceipts } from '../../host/records/describe-run.ts'
import { currentProject } from '../../host/project.ts'
import { describeForeign, reportingDamage } from '../../host/records/foreign.ts'
import { copyNumber } from '../../views/copies.ts'
import { chooseRun, findSteps, readCopy, readNumber, recordsFor } from './choose-run.ts'
import { describePolicy } from './describe-policy.ts'
import { describeProjectTasks, readProjectTasks } from './print-status.ts'
import { readFailedTasks } from '../../host/queue/failed-tasks.ts'
import { readQueuedTasks } from '../../host/records/queued-tasks.ts'
import { listAttempts, readNewest, roundOf } from '../../host/records/receipts.ts'
import { allSteps } from '../../host/plan-texts.ts'
import { readRecordedPlan } from '../../host/records/recorded-plan.ts'
import { renderReceipt } from './render-receipt.ts'
import { withQueueState } from '../../host/records/with-queue.ts'
import type { QueuedBrief } from '../../host/records/describe-run.ts'

/** The part of a run to show; by default all steps, each with its last round. */
type Part = Readonly<Record<'step' | 'iteration' | 'attempt' | 'round', number | undefined>> & {
  readonly copy: string | undefined
}

export async function showRun(input: Input): Promise<number> {
  const part: Part = {
    step: readNumber(input, 'step'),
    copy: readCopy(input),
    iteration: readNumber(input, 'iteration'),
    attempt: readNumber(input, 'attempt'),
    round: readNumber(input, 'round'),
  }
  if (part.iteration === undefined && part.attempt !== undefined)
    throw new UsageError('--attempt needs --iteration.')
  if (part.step === undefined && (part.iteration !== undefined || part.round !== undefined))
    throw new UsageError('--iteration and --round need --step.', 'For example: --step 1 --round 1')
  const chosen = chooseRun(input, recordsFor(input))
  return reportingDamage(chosen, () => show(input, withQueueState(chosen), part))
}

async function show(input: Input, run: QueuedBrief, part: Part): Promise<number> {
  const steps = part.step === undefined ? run.state.steps : findSteps(run, part.step, part.copy)
  if (part.iteration !== undefined) {
    const step = onlyCopy(run, steps)
    const receipt = findReceipt(run, step, part.iteration, part)
    if (input.flag('json')) console.log(JSON.stringify(receipt))
    else console.log(renderReceipt(receipt, step.agent, run.folder).join('\n'))
    return 0
  }
  // Tasks belong to the run as a whole.
  const tasks = part.step === undefined ? await readQueuedTasks(run, process.env) : undefined
  if (input.flag('json')) {
    console.log(JSON.stringify({ ...describeWithReceipts(run, steps, part.round), ...tasks }))
  } else {
    const isFailedQueue = run.state.steps.length === 0 && run.status === 'failed'
    const failed = isFailedQueue && tasks !== undefined ? (await readFailedTasks(run)).shown : []
    console.log(renderWithReceipts(run, steps, part.round, tasks, failed).join('\n'))
  }
  // The tasks could not be read.
  return tasks?.problem === undefined ? 0 : 1
}

/** Each copy has its own iterations. */
function onlyCopy({ id }: QueuedBrief, steps: readonly StepState[]): StepState {
  const [step] = steps as [StepState]
  if (steps.length === 1) return step
  const copy = copyNumber(step).slice(1)
  throw new UserError(
    `Step ${step.number} of run ${id} has ${steps.length} copies.`,
    `Choose one, for example --copy ${copy}`,
  )
}

function renderWithReceipts(
  run: QueuedBrief,
  steps: readonly StepState[],
  round: number | undefined,
  tasks: ShownTasks | undefined,
  failedTasks: readonly FailedTask[],
): string[] {
  const plan = readRecordedPlan(run.folder)
  const planned = plan === undefined ? [] : allSteps(plan)
  const detailsOf = (step: StepState): StepDetails => {
    const { receipts, older } = readNewest(run.folder, step, round)
    const { policy = {} } = planned.find(({ number }) => number === step.number) ?? {}
    const { running } = step
    const open = running === undefined ? [] : [{ ...running, attempt: step.attempt }]
    return { policy: describePolicy(policy), iterations: [...receipts.map(brief), ...open], older }
  }
  const policy = describePolicy(plan ?? {})
  const foreign = describeForeign(run.foreign)
  const openTasks = describeOpenTasks(run)
  return renderRun({ ...run, foreign, policy, tasks, failedTasks, openTasks }, steps, detailsOf, {
    now: Date.now(),
    here: currentProject(process.env),
  })
}

/** An agent may have reported completion while tasks of the project are still open. */
function describeOpenTasks({ status, foreign, state }: QueuedBrief): string | undefined {
  if (status !== 'complete' || foreign !== undefined || state.cwd === undefined) return undefined
  const tasks = readProjectTasks(state.cwd)
  const isOpen = 'error' in tasks || tasks.total > tasks.byStatus.Done
  return isOpen ? describeProjectTasks(tasks) : undefined
}

/** By default of the last round and the last attempt. */
function findReceipt(
  { id, folder }: QueuedBrief,
  step: StepState,
  iteration: number,
  part: Part,
): Receipt {
  const of = roundOf(step, part.round)
  const { number } = step
  const attempts = listAttempts(folder, of)
  const attempt = part.attempt ?? attempts.findLast((each) => each.iteration === iteration)?.attempt
  const receipt = readReceipt(folder, { ...of, iteration, attempt })
  if (receipt !== undefined) return receipt
  const last = attempts.at(-1)?.iteration
  const copy = part.copy === undefined ? '' : ` --copy ${part.copy}`
  const round = `${copy}${part.round === undefined ? '' : ` --round ${of.round}`}`
  throw new UserError(
    whyNoReceipt(step, { ...part, iteration }, attempts),
    last === undefined
      ? `See: forkhestra show ${id}`
      : `The last one with a receipt: forkhestra show ${id} --step ${number}${round} --iteration ${last}`,
  )
}

function whyNoReceipt(
  { number, rounds, running }: StepState,
  { iteration, attempt, round }: Part,
  attempts: ReturnType<typeof listAttempts>,
): string {
  if (round !== undefined && round > rounds) return `Step ${number} has no round ${round}.`
  const isOfLast = (round ?? rounds) === rounds
  if (isOfLast && running?.iteration === iteration && attempt === undefined)
    return `No receipt for iteration ${iteration} of step ${number}: it has not ended.`
  const isKnown = attempts.some((each) => each.iteration === iteration)
  if (isKnown && attempt !== undefined)
    return `Iteration ${iteration} of step ${number} has no attempt ${attempt} that has ended.`
  return isKnown
    ? `The receipt for iteration ${iteration} of step ${number} is missing.`
    : `Step ${number} has no iteration ${iteration} that has ended.`
}

function brief(receipt: Receipt): IterationBrief {
  const { iteration, attempt, startedAt, outcome, again, ms, costUsd, billing, changes } = receipt
  const usage = { costUsd, billing }
  const { commits, fileCount: files } = changes ?? {}
  return { iteration, attempt, startedAt, outcome, again, ms, usage, commits, files }
}
