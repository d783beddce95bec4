import { writeFileSync } from 'node:fs'
import { errorText, tryOr, UserError } from '../../base/errors.ts'
import type { Attempt } from '../../records/events/attempts.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { readTextIn } from '../../records/journal/inside.ts'
import { iterationPath } from '../../records/journal/paths.ts'
import { readReceipt, type Receipt } from '../../records/journal/receipt.ts'
import { renderReport } from '../../views/report/report.ts'
import { renderRun } from '../../views/show.ts'
import type { StepDetails } from '../../views/show-steps.ts'
import type { ShownTasks } from '../../views/show-tasks.ts'
import { UsageError, type Input } from '../command.ts'
import { describeWithReceipts } from '../../host/records/describe-run.ts'
import { currentProject } from '../../host/project.ts'
import { readCommits } from '../../host/records/commits.ts'
import { describeForeign, reportingDamage } from '../../host/records/foreign.ts'
import { copyNumber } from '../../views/copies.ts'
import { CannotPrint, printPainted, stdoutLayout } from '../print.ts'
import { chooseRun, findSteps, readCopy, readNumber, recordsFor } from './choose-run.ts'
import { describePolicy } from './describe-policy.ts'
import { describeProjectTasks, readProjectTasks } from './print-status.ts'
import { readFailedTasks } from '../../host/queue/failed-tasks.ts'
import { readAttempts, readHistory } from '../../host/records/attempts.ts'
import { readQueuedTasks } from '../../host/records/queued-tasks.ts'
import { listAttempts, roundOf } from '../../host/records/receipts.ts'
import { allSteps } from '../../host/plan-texts.ts'
import { readRecordedPlan } from '../../host/records/recorded-plan.ts'
import { renderReceipt, type ReceiptDetails } from './render-receipt.ts'
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
  if (input.text('html') !== undefined && (part.step !== undefined || input.flag('json')))
    throw new UsageError('--html is about the whole run: leave out --step and --json.')
  const chosen = chooseRun(input, recordsFor(input))
  return reportingDamage(chosen, () => show(input, withQueueState(chosen), part))
}

async function show(input: Input, run: QueuedBrief, part: Part): Promise<number> {
  const report = input.text('html')
  const steps = part.step === undefined ? run.state.steps : findSteps(run, part.step, part.copy)
  if (part.iteration !== undefined) {
    const step = onlyCopy(run, steps)
    const receipt = findReceipt(run, step, part.iteration, part)
    if (input.flag('json')) console.log(JSON.stringify(receipt))
    else
      printPainted(renderReceipt(receipt, await receiptDetails(run, step, receipt), stdoutLayout()))
    return 0
  }
  // Tasks belong to the run as a whole.
  const tasks = part.step === undefined ? await readQueuedTasks(run, process.env) : undefined
  if (input.flag('json')) {
    console.log(JSON.stringify({ ...describeWithReceipts(run, steps, part.round), ...tasks }))
  } else {
    const shown = await gather(run, tasks)
    if (report === undefined) printPainted(renderWithAttempts(shown, steps, part))
    else await writeReport(report, shown)
  }
  // The tasks could not be read.
  return tasks?.problem === undefined ? 0 : 1
}

async function receiptDetails(
  run: QueuedBrief,
  { agent }: StepState,
  receipt: Receipt,
): Promise<ReceiptDetails> {
  const { folder } = run
  const path = iterationPath(receipt)
  const attempt = readHistory(run).attempts.find((each) => iterationPath(each) === path)
  const textIn = (name: string | undefined) =>
    name === undefined ? '' : tryOr('', () => readTextIn(folder, name))
  return {
    agent,
    folder,
    attempt,
    commits: (await readCommits(run, [receipt.changes], process.env))(receipt.changes),
    prompt: textIn(receipt.prompt?.path),
    lastWords: attempt?.lastWords ?? textIn(receipt.log),
  }
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

/** Everything about a run as a whole. */
async function gather(run: QueuedBrief, tasks: ShownTasks | undefined) {
  const isFailedQueue = run.state.steps.length === 0 && run.status === 'failed'
  const failedTasks = isFailedQueue && tasks !== undefined ? (await readFailedTasks(run)).shown : []
  const plan = readRecordedPlan(run.folder)
  const policy = describePolicy(plan ?? {})
  const openTasks = describeOpenTasks(run)
  const foreign = describeForeign(run.foreign)
  return { run, plan, shown: { ...run, foreign, policy, tasks, failedTasks, openTasks } }
}

type Gathered = Awaited<ReturnType<typeof gather>>

function renderWithAttempts(
  { run, plan, shown }: Gathered,
  steps: readonly StepState[],
  part: Part,
): string[] {
  const planned = plan === undefined ? [] : allSteps(plan)
  const byStep = Map.groupBy(readAttempts(run, steps, part.round), ({ scope }) => keyOfScope(scope))
  const detailsOf = (step: StepState): StepDetails => {
    const { policy = {} } = planned.find(({ number }) => number === step.number) ?? {}
    return { policy: describePolicy(policy), attempts: byStep.get(step.key) ?? [] }
  }
  const here = currentProject(process.env)
  return renderRun(shown, steps, detailsOf, { now: Date.now(), here, layout: stdoutLayout() })
}

async function writeReport(path: string, { run, plan, shown }: Gathered): Promise<void> {
  const history = readHistory(run)
  const changes = history.attempts.map((attempt) => attempt.changes)
  const commits = await readCommits(run, changes, process.env)
  const commitsOf = (attempt: Attempt) => commits(attempt.changes)
  const budgetUsd = plan?.budget.costUsd
  const text = renderReport({ ...shown, ...history, budgetUsd, commitsOf }, Date.now())
  try {
    writeFileSync(path, text)
  } catch (error) {
    throw new CannotPrint(`Cannot write the report: ${errorText(error)}`, 'Choose another file.')
  }
  console.log(`Report of run ${run.id}: ${path}`)
}

/** An agent may have reported completion while tasks of the project are still open. */
function describeOpenTasks({ status, foreign, state }: QueuedBrief): string | undefined {
  if (status !== 'complete' || foreign !== undefined || state.cwd === undefined) return undefined
  const tasks = readProjectTasks(state.cwd)
  const isOpen = 'error' in tasks || tasks.total > tasks.byStatus.Done
  return isOpen ? describeProjectTasks(tasks) : undefined
}

/** By default of the last round and the last attempt. */
function findReceipt(run: QueuedBrief, step: StepState, iteration: number, part: Part): Receipt {
  const { id, folder } = run
  const of = roundOf(step, part.round)
  const attempts = listAttempts(folder, of)
  const attempt = part.attempt ?? attempts.findLast((each) => each.iteration === iteration)?.attempt
  const receipt = readReceipt(folder, { ...of, iteration, attempt })
  if (receipt !== undefined) return receipt
  const copy = part.copy === undefined ? '' : ` --copy ${part.copy}`
  const place = `${id} --step ${step.number}${copy}`
  const open = readAttempts(run, [step], of.round).findLast(
    (each) => each.iteration === iteration && each.attempt === (attempt ?? each.attempt),
  )
  if (open !== undefined && open.outcome === undefined) {
    const why = open.isKilled === true ? 'was killed with its run' : 'has not ended'
    throw new UserError(
      `No receipt for iteration ${iteration} of step ${step.number}: it ${why}.`,
      `Its output: forkhestra logs ${place} --iteration ${iteration}`,
    )
  }
  const last = attempts.at(-1)?.iteration
  const round = part.round === undefined ? '' : ` --round ${of.round}`
  throw new UserError(
    whyNoReceipt(step, { ...part, iteration }, attempts),
    last === undefined
      ? `See: forkhestra show ${id}`
      : `The last one with a receipt: forkhestra show ${place}${round} --iteration ${last}`,
  )
}

function whyNoReceipt(
  { number, rounds }: StepState,
  { iteration, attempt, round }: Part,
  attempts: ReturnType<typeof listAttempts>,
): string {
  if (round !== undefined && round > rounds) return `Step ${number} has no round ${round}.`
  const isKnown = attempts.some((each) => each.iteration === iteration)
  if (isKnown && attempt !== undefined)
    return `Iteration ${iteration} of step ${number} has no attempt ${attempt} that has ended.`
  return isKnown
    ? `The receipt for iteration ${iteration} of step ${number} is missing.`
    : `Step ${number} has no iteration ${iteration} that has ended.`
}
