import { UserError } from '../../base/errors.ts'
import type { StepState } from '../../events/step-state.ts'
import { readReceipt } from '../../journal/read-receipt.ts'
import type { Receipt } from '../../journal/receipt.ts'
import { renderRun, type IterationBrief, type StepDetails } from '../../views/show.ts'
import type { ShownTasks } from '../../views/show-tasks.ts'
import { UsageError, type Input } from '../command.ts'
import { describeRun } from './describe-run.ts'
import { currentProject } from '../project.ts'
import { foreignWords, lookAt } from './foreign.ts'
import { chooseRun, readNumber, recordsOf, stepOf } from './place.ts'
import { policyWords } from './policy-words.ts'
import { readTasks } from './read-tasks.ts'
import { listAttempts, readNewest } from './receipts.ts'
import { allSteps, readRecordedPlan } from './recorded-plan.ts'
import { renderReceipt } from './render-receipt.ts'
import { withQueue, type QueuedBrief } from './with-queue.ts'

/** So many iterations of a step are listed. */
const LISTED = 20

/** The verb `show`. */
export async function showRun(input: Input): Promise<number> {
  const [step, iteration] = [readNumber(input, 'step'), readNumber(input, 'iteration')]
  const [attempt, round] = [readNumber(input, 'attempt'), readNumber(input, 'round')]
  if (iteration === undefined && attempt !== undefined)
    throw new UsageError('--attempt needs the --iteration of which it is one.')
  if (step === undefined && (iteration !== undefined || round !== undefined))
    throw new UsageError('--iteration and --round need the --step to which they belong.')
  const chosen = chooseRun(input, recordsOf(input))
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
  // They belong to the run as a whole.
  const tasks = step === undefined ? await readTasks(run) : undefined
  if (input.flag('json')) {
    console.log(JSON.stringify({ ...describeWithReceipts(run, steps, round), ...tasks }))
  } else console.log(renderWithReceipts(run, steps, round, tasks).join('\n'))
  // Not all of it could be shown.
  return tasks?.problem === undefined ? 0 : 1
}

type Round = number | undefined

function describeWithReceipts(run: QueuedBrief, steps: readonly StepState[], round: Round) {
  const { steps: all, ...described } = describeRun(run, Date.now())
  const shown = all.flatMap((each) => {
    const step = steps.find(({ number }) => number === each.step)
    return step === undefined ? [] : [{ ...each, ...readOf(run.folder, step, round) }]
  })
  const damage = run.damage.length === 0 ? {} : { damage: run.damage }
  return { ...described, ...damage, steps: shown, plan: readRecordedPlan(run.folder) }
}

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
    const { receipts, older } = readOf(run.folder, step, round)
    const { policy = {} } = planned.find(({ number }) => number === step.number) ?? {}
    const { running } = step
    const open = running === undefined ? [] : [{ ...running, attempt: step.attempt }]
    return { policy: policyWords(policy), iterations: [...receipts.map(brief), ...open], older }
  }
  const policy = policyWords({ ...(when === undefined ? {} : { when }), budget: budget ?? {} })
  const foreign = foreignWords(run.foreign)
  return renderRun({ ...run, foreign, policy, tasks }, steps, detailsOf, {
    now: Date.now(),
    here: currentProject(),
  })
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

/** The last round and the last attempt count where nobody says which. */
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
    `There is no receipt of iteration ${which.iteration} of step ${number}: it has not ended.`,
    last === undefined
      ? `See: forkhestra show ${id}`
      : `The last that has is: forkhestra show ${id} --step ${number} --iteration ${last}`,
  )
}

function readOf(folder: string, step: StepState, round: Round) {
  return readNewest(folder, { ...roundOf(step, round), count: LISTED })
}

function roundOf({ number: step, rounds, iterations, running }: StepState, round: Round) {
  const last = Math.max(1, rounds)
  const ended = running === undefined ? iterations : iterations - 1
  return { step, round: round ?? last, ...((round ?? last) === last ? { ended } : {}) }
}

function brief(receipt: Receipt): IterationBrief {
  const { iteration, attempt, outcome, again, ms, costUsd, billing, changes } = receipt
  const usage = { costUsd, billing }
  const { commits, fileCount: files } = changes ?? {}
  return { iteration, attempt, outcome, again, ms, usage, commits, files }
}
