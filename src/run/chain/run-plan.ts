import { statSync } from 'node:fs'
import { errorCode } from '../../base/errors.ts'
import type { Leftover, LeftInQueue, RunEvent } from '../../records/events/schema.ts'
import { firstOpen, next, stepAt, type RunState } from '../../records/events/state.ts'
import { isSettled, type StepState } from '../../records/events/step-state.ts'
import { stepsOf, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import { runCommand } from '../process/command.ts'
import type { Context } from './context.ts'
import { Family } from '../process/family.ts'
import { runHooks } from './hooks.ts'
import { STOP_ASKED } from './judge.ts'
import { EXIT_CODES, stopReasonOf, type Ports } from './ports.ts'
import { ProgressWatch } from '../progress/progress-watch.ts'
import { placeOf } from './place.ts'
import { RunQueues } from '../subagents/run-queues.ts'
import { runStep } from './run-step.ts'
import { spentRunBudget } from './budget.ts'
import { Spending } from './spending.ts'

/**
 * Carries out a plan, starting from its current state. Everything that happens is an event, and no
 * process of the run outlives it.
 */
export async function runPlan(plan: Plan, ports: Ports): Promise<void> {
  const { worker } = announce(plan, ports)
  const family = await Family.of(plan.run, ports)
  const spending = new Spending(plan, ports.state)
  const queues = new RunQueues(plan, ports, family, spending)
  const context = {
    plan,
    ports,
    family,
    spending,
    queues,
    progress: new ProgressWatch(plan, ports),
  }
  let leftovers: Leftover[]
  try {
    await queues.begin()
    await queues.tearDownAgain()
    if (await mayBegin(context)) await runSteps(context)
    skipRest(context)
    await queues.endWork()
  } finally {
    // Even after a bug no agent may keep running unsupervised.
    leftovers = await family.end(ports.force)
  }
  const left = await queues.left()
  await queues.close()
  await finish(leftovers, left, worker, context)
}

/** Emits `run_started` or `run_resumed`. */
export function announce(
  plan: Plan,
  { emit, record, lacks, lostMs, state, version }: Ports,
): RunEvent {
  const lacking = lacks === undefined ? {} : { lacks }
  if (state().steps.length > 0) {
    const place = plan.isChat === true ? { step: 1 } : nextPlace(plan, state())
    const where = { ...place, ...lacking, ...(lostMs === undefined ? {} : { lostMs }) }
    return emit({ type: 'run_resumed', version, pid: process.pid, ...where, plan: { ...plan } })
  }
  const brief = ({ number, agent, loop, name }: StepNode) => ({
    step: number,
    agent: agent.name,
    ...(name === undefined ? {} : { name }),
    ...(loop === undefined ? {} : { maxIterations: loop }),
  })
  return emit({
    type: 'run_started',
    schema: 1,
    version,
    pid: process.pid,
    cwd: plan.cwd,
    ...(plan.chain === undefined ? {} : { chain: plan.chain }),
    ...(record === undefined ? {} : { record }),
    ...lacking,
    steps: [
      ...stepsOf(plan.root).map(brief),
      ...plan.recoveries.map((step) => ({ ...brief(step), isRecovery: true })),
    ],
    plan: { ...plan },
  })
}

/** Where a resumed run continues; without an iteration if only the end of the step is missing. */
function nextPlace(plan: Plan, before: RunState) {
  const state = next(before, { type: 'run_resumed', version: '', pid: process.pid })
  if (state.at > stepsOf(plan.root).length) return {}
  const { isOpen, isAgain, running, iterations, ends, reason } = stepAt(state, state.at)
  if ((ends ?? reason) !== undefined) return { step: state.at }
  if (!isOpen) return { step: state.at, iteration: 1 }
  const isRepeated = isAgain || running !== undefined
  return { step: state.at, iteration: isRepeated ? iterations : iterations + 1 }
}

/** Checks the `when` of the chain, unless one of its steps has already begun. */
async function mayBegin(context: Context): Promise<boolean> {
  const { plan, ports } = context
  const { steps } = ports.state()
  if (plan.when === undefined || steps.some(({ rounds }) => rounds > 0)) return true
  const { result, detail } = await runCommand({ role: 'when', command: plan.when }, context)
  if (result === 'ok') return true
  const words = `when: ${plan.when}`
  for (const step of stepsOf(plan.root)) {
    if (stepAt(ports.state(), step.number).isPassed) continue
    if (result === 'failed') end(step, 'skipped', words, context, true)
    else if (step.number === 1 && result === 'broken')
      end(step, 'error', `${words}: ${detail}`, context)
  }
  return false
}

async function runSteps(context: Context): Promise<void> {
  const { plan, ports } = context
  const steps = stepsOf(plan.root)
  let at = ports.state().at
  // An earlier process may have ended between a failure and its `onFail`.
  let isOver = stepAt(ports.state(), at).reason !== undefined
  for (let step = steps[at - 1]; step !== undefined && !isStopping(ports); step = steps[at - 1]) {
    if (!isOver) await runStep(step, context)
    isOver = false
    const known = stepAt(ports.state(), at)
    const then = isSettled(known) ? at + 1 : await afterFailure(step, known, context)
    if (then === undefined) return
    // After a jump back, later steps may be done already.
    at = firstOpen(ports.state().steps, then)
  }
}

function isStopping({ stop, control }: Ports): boolean {
  return stop.aborted || control.isStopRequested
}

/** Ends after which `onFail` does not apply: they need a person, or time. */
const FINAL: readonly StepState['reason'][] = ['interrupted', 'quota', 'auth']

/** The number of the next step after a failure; undefined if the chain ends. */
async function afterFailure(
  step: StepNode,
  known: StepState,
  context: Context,
): Promise<number | undefined> {
  const { plan, ports } = context
  const { reason, jumps, rounds, closings } = known
  const { onFail } = step.policy
  if (FINAL.includes(reason) || isStopping(ports)) return undefined
  const state = ports.state()
  if (spentRunBudget(plan, state) !== undefined) return undefined
  switch (onFail.kind) {
    case 'stop':
      return (await leavesTasks(step, known, ports)) ? step.number + 1 : undefined
    case 'continue':
      return step.number + 1
    case 'goto': {
      const { step: to, times } = onFail
      if (jumps >= times) return undefined
      ports.emit({ type: 'jump', ...placeOf(step, rounds), to, count: jumps + 1, times })
      return to
    }
    case 'run': {
      const recovery = plan.recoveries.find(({ number }) => number === onFail.step)
      const done = stepAt(state, onFail.step)
      if (recovery !== undefined && (done.isOpen || done.closings < closings))
        await runStep(recovery, context)
      return undefined
    }
  }
}

/** Whether a planner worked without reaching its end, and there are tasks to build. */
async function leavesTasks(
  { goesOnWithTasks }: StepNode,
  { reason, feedback, failures, iterations }: StepState,
  { tasks }: Ports,
): Promise<boolean> {
  if (goesOnWithTasks !== true || feedback !== undefined || failures >= iterations) return false
  if (reason !== 'stalled' && reason !== 'max_iterations') return false
  return (await tasks.count()).open > 0
}

/** Ends the steps that never began as skipped. */
function skipRest(context: Context): void {
  for (const step of stepsOf(context.plan.root)) {
    const { reason } = stepAt(context.ports.state(), step.number)
    if (reason === undefined) end(step, 'skipped', undefined, context)
  }
}

function end(
  step: StepNode,
  reason: 'skipped' | 'error',
  detail: string | undefined,
  { ports }: Context,
  isPassed = false,
): void {
  const { rounds, spent } = stepAt(ports.state(), step.number)
  ports.emit({
    type: 'step_ended',
    ...placeOf(step, rounds),
    agent: step.agent.name,
    reason,
    ...(detail === undefined ? {} : { detail }),
    ...(isPassed ? { passed: true } : {}),
    iterations: 0,
    failures: 0,
    spent,
  })
}

async function finish(
  leftovers: Leftover[],
  queue: LeftInQueue | undefined,
  worker: string,
  context: Context,
): Promise<void> {
  const { plan, ports, family, queues, progress } = context
  const { emit, stop, force, state } = ports
  const steps = state().steps.filter(({ isRecovery }) => isRecovery !== true)
  const isComplete = steps.every(isSettled)
  const stopped = stoppedBy(ports, isComplete)
  const signal = stopped?.signal
  const isQueued = state().steps.every(({ notQueued = [] }) => notQueued.length === 0)
  const gone = whyGone(plan.cwd)
  if (gone !== undefined) emit({ type: 'warning', text: `${gone}; ${whereRecordIs(ports)}` })
  const isClean = isComplete && isQueued && queues.isSound && gone === undefined
  const exitCode = signal === undefined ? (isClean ? 0 : 1) : EXIT_CODES[signal]
  const body = {
    type: 'run_ended' as const,
    ok: exitCode === 0,
    exitCode,
    ...(stopped === undefined ? {} : { stopped }),
    leftovers,
    spent: state().spent,
    ...(queue === undefined ? {} : { queue }),
  }
  if (plan.hooks.afterRun !== undefined && !force.aborted) {
    const masked = ports.mask?.(body) ?? body
    // Without a sequence number: it is emitted after the events of the hook.
    const event: RunEvent = { ...masked, at: new Date().toISOString(), run: plan.run, worker }
    // The hook runs even after a stop; a second stop ends it, too.
    await runHooks('afterRun', event, undefined, context, stop.aborted ? force : stop)
    await family.end(force)
  }
  // After the hook, which may commit; not after a stop, which should not wait for git.
  const uncommitted = stop.aborted ? undefined : await progress.countUncommitted()
  emit({ ...body, ...(uncommitted === undefined ? {} : { uncommitted }) })
}

/** Why the project folder is not usable any more; undefined if it is. */
function whyGone(cwd: string): string | undefined {
  try {
    statSync(cwd)
    return undefined
  } catch (error) {
    const code = errorCode(error)
    const words =
      code === 'ENOENT'
        ? 'was deleted or renamed during the run'
        : `can no longer be accessed (${code})`
    return `the project folder ${cwd} ${words}`
  }
}

function whereRecordIs({ recordPlace }: Ports): string {
  const place = recordPlace?.()
  return place === undefined
    ? 'there is no record of the run'
    : `the record of the run is in ${place}`
}

function stoppedBy({ stop, control }: Ports, isComplete: boolean) {
  if (stop.aborted) return stopReasonOf(stop)
  return control.isStopRequested && !isComplete
    ? { signal: undefined, words: STOP_ASKED }
    : undefined
}
