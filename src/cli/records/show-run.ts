import { UserError } from '../../base/errors.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { readReceipt, type Receipt } from '../../records/journal/receipt.ts'
import { renderRun, type IterationBrief, type StepDetails } from '../../views/show.ts'
import type { ShownTasks } from '../../views/show-tasks.ts'
import { UsageError, type Input } from '../command.ts'
import { describeWithReceipts, readListed, roundOf } from '../../host/records/describe-run.ts'
import { currentProject } from '../../host/project.ts'
import { describeForeign, lookAt } from '../../host/records/foreign.ts'
import { chooseRun, readNumber, recordsFor, stepOf } from './choose-run.ts'
import { describePolicy } from './describe-policy.ts'
import { describeProjectTasks, readProjectTasks } from './print-status.ts'
import { readTasks } from '../../host/records/read-tasks.ts'
import { listAttempts } from '../../host/records/receipts.ts'
import { allSteps, readRecordedPlan } from '../../host/records/recorded-plan.ts'
import { renderReceipt } from './render-receipt.ts'
import { withQueue } from '../../host/records/with-queue.ts'
import type { QueuedBrief } from '../../host/records/describe-run.ts'

/** The command `show`. */
export async function showRun(input: Input): Promise<number> {
  const [step, iteration] = [readNumber(input, 'step'), readNumber(input, 'iteration')]
  const [attempt, round] = [readNumber(input, 'attempt'), readNumber(input, 'round')]
  if (iteration === undefined && attempt !== undefined)
    throw new UsageError('--attempt needs --iteration.')
  if (step === undefined && (iteration !== undefined || round !== undefined))
    throw new UsageError('--iteration and --round need --step.')
  const chosen = chooseRun(input, recordsFor(input))
  return lookAt(chosen, () => show(input, withQueue(chosen), { step, iteration, attempt, round }))
}

async function show(
  input: Input,
  run: QueuedBrief,
  {
    step,
    iteration,
    attempt,
    round,
  }: Record<'step' | 'iteration' | 'attempt' | 'round', number | undefined>,
): Promise<number> {
  const steps = step === undefined ? run.state.steps : [stepOf(run, step)]
  if (steps[0] !== undefined && iteration !== undefined)
    return showIteration(input, run, steps[0], { iteration, attempt, round })
  // Tasks belong to the run as a whole.
  const tasks = step === undefined ? await readTasks(run, process.env) : undefined
  if (input.flag('json')) {
    console.log(JSON.stringify({ ...describeWithReceipts(run, steps, round), ...tasks }))
  } else console.log(renderWithReceipts(run, steps, round, tasks).join('\n'))
  // The tasks could not be read.
  return tasks?.problem === undefined ? 0 : 1
}

type Round = number | undefined

function renderWithReceipts(
  run: QueuedBrief,
  steps: readonly StepState[],
  round: Round,
  tasks: ShownTasks | undefined,
): string[] {
  const plan = readRecordedPlan(run.folder)
  const planned = plan === undefined ? [] : allSteps(plan)
  const { when, budget } = plan ?? {}
  const detailsOf = (step: StepState): StepDetails => {
    const { receipts, older } = readListed(run.folder, step, round)
    const { policy = {} } = planned.find(({ number }) => number === step.number) ?? {}
    const { running } = step
    const open = running === undefined ? [] : [{ ...running, attempt: step.attempt }]
    return { policy: describePolicy(policy), iterations: [...receipts.map(brief), ...open], older }
  }
  const policy = describePolicy({ ...(when === undefined ? {} : { when }), budget: budget ?? {} })
  const foreign = describeForeign(run.foreign)
  const openTasks = describeOpenTasks(run)
  return renderRun({ ...run, foreign, policy, tasks, openTasks }, steps, detailsOf, {
    now: Date.now(),
    here: currentProject(process.env),
  })
}

/** An agent may have called its work complete while tasks of the project are open. */
function describeOpenTasks({ status, foreign, state }: QueuedBrief): string | undefined {
  if (status !== 'complete' || foreign !== undefined || state.cwd === undefined) return undefined
  const tasks = readProjectTasks(state.cwd)
  const isOpen = 'error' in tasks || tasks.total > tasks.byStatus.Done
  return isOpen ? describeProjectTasks(tasks) : undefined
}

interface Which {
  readonly iteration: number
  readonly attempt: number | undefined
  readonly round: number | undefined
}

function showIteration(input: Input, run: QueuedBrief, step: StepState, which: Which): number {
  const receipt = findReceipt(run, step, which)
  if (input.flag('json')) console.log(JSON.stringify(receipt))
  else console.log(renderReceipt(receipt, step.agent, run.folder).join('\n'))
  return 0
}

/** By default of the last round and the last attempt. */
function findReceipt({ id, folder }: QueuedBrief, step: StepState, which: Which): Receipt {
  const of = roundOf(step, which.round)
  const { round } = of
  const { number } = step
  const attempts = listAttempts(folder, of)
  const tries = attempts.filter(({ iteration }) => iteration === which.iteration)
  const attempt = which.attempt ?? tries.at(-1)?.attempt
  const receipt = readReceipt(folder, number, which.iteration, attempt, round)
  if (receipt !== undefined) return receipt
  const last = attempts.at(-1)?.iteration
  throw new UserError(
    `No receipt for iteration ${which.iteration} of step ${number}: it has not ended.`,
    last === undefined
      ? `See: forkhestra show ${id}`
      : `The last one with a receipt: forkhestra show ${id} --step ${number} --iteration ${last}`,
  )
}

function brief(receipt: Receipt): IterationBrief {
  const { iteration, attempt, outcome, again, ms, costUsd, billing, changes } = receipt
  const usage = { costUsd, billing }
  const { commits, fileCount: files } = changes ?? {}
  return { iteration, attempt, outcome, again, ms, usage, commits, files }
}
