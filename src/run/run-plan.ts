import type { Leftover, LeftInQueue, RunEvent } from '../events/schema.ts'
import { firstOpen, next, stepAt, type RunState } from '../events/state.ts'
import { isSettled, type StepState } from '../events/step-state.ts'
import { stepsOf, type Plan, type StepNode } from '../plan/plan.ts'
import { runCommand } from './command.ts'
import type { Context } from './context.ts'
import { Family } from './family.ts'
import { runHooks } from './hooks.ts'
import { STOP_ASKED } from './judge.ts'
import { EXIT_CODES, stopReasonOf, type Ports } from './ports.ts'
import { ProgressWatch } from './progress-watch.ts'
import { placeOf } from './place.ts'
import { Queues } from './queues.ts'
import { runStep } from './run-step.ts'
import { spentRunBudget } from './budget.ts'
import { Spending } from './spending.ts'

/**
 * Carries a plan out, from where its state says that it is. What happens is told by events alone;
 * nothing of the run is left behind.
 */
export async function runPlan(plan: Plan, ports: Ports): Promise<void> {
  const { worker } = announce(plan, ports)
  const family = await Family.of(plan.run, ports)
  const spending = new Spending(plan, ports.state)
  const queues = new Queues(plan, ports, family, spending)
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
    // Even a mistake of our own must not leave an agent behind that nobody watches.
    leftovers = await family.end(ports.force)
  }
  const left = await queues.left()
  await queues.close()
  await finish(leftovers, left, worker, context)
}

/** Says that a run begins, or goes on. */
export function announce(plan: Plan, { emit, record, lacks, state, version }: Ports): RunEvent {
  const lacking = lacks === undefined ? {} : { lacks }
  if (state().steps.length > 0) {
    const place = plan.isChat === true ? { step: 1 } : nextPlace(plan, state())
    const where = { ...place, ...lacking }
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

/** Where a run goes on; no iteration where the step only has to come to its end. */
function nextPlace(plan: Plan, before: RunState) {
  const state = next(before, { type: 'run_resumed', version: '', pid: process.pid })
  if (state.at > stepsOf(plan.root).length) return {}
  const { isOpen, isAgain, running, iterations, ends, reason } = stepAt(state, state.at)
  if ((ends ?? reason) !== undefined) return { step: state.at }
  if (!isOpen) return { step: state.at, iteration: 1 }
  const isRepeated = isAgain || running !== undefined
  return { step: state.at, iteration: isRepeated ? iterations : iterations + 1 }
}

/** Asks for the condition of the chain, where none of its steps has begun. */
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
  // Where an earlier process ended between a failure and what is done about it, that comes next.
  let isOver = stepAt(ports.state(), at).reason !== undefined
  for (let step = steps[at - 1]; step !== undefined && !isStopping(ports); step = steps[at - 1]) {
    if (!isOver) await runStep(step, context)
    isOver = false
    const known = stepAt(ports.state(), at)
    const then = isSettled(known) ? at + 1 : await afterFailure(step, known, context)
    if (then === undefined) return
    // Where one that failed was tried again, what is behind it may be done.
    at = firstOpen(ports.state().steps, then)
  }
}

function isStopping({ stop, control }: Ports): boolean {
  return stop.aborted || control.isStopAsked
}

/** Whatever the chain says: what needs a person, or an hour, does not get better by going on. */
const FINAL: readonly StepState['reason'][] = ['interrupted', 'quota', 'auth']

/** The number of the step that comes next, where a failure is not the end. */
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
      return leavesTasks(step, known, ports) ? step.number + 1 : undefined
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

/** Whether a planner came to no end, although it worked, and there are tasks to build. */
function leavesTasks(
  { goesOnWithTasks }: StepNode,
  { reason, feedback, failures, iterations }: StepState,
  { tasks }: Ports,
): boolean {
  if (goesOnWithTasks !== true || feedback !== undefined || failures >= iterations) return false
  return (reason === 'stalled' || reason === 'max_iterations') && tasks.count().open > 0
}

/** What has never been begun will not be any more. */
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
  const isClean = isComplete && isQueued && queues.isSound
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
    const told = ports.mask?.(body) ?? body
    // It gets its number when it is told, behind what is told of the hook.
    const event: RunEvent = { ...told, at: new Date().toISOString(), run: plan.run, worker }
    // After a stop the last word is still wanted; a second one ends that, too.
    await runHooks('afterRun', event, undefined, context, stop.aborted ? force : stop)
    await family.end(force)
  }
  // A hook may have committed; who has stopped the run does not want to wait for git.
  const uncommitted = stop.aborted ? undefined : await progress.countUncommitted()
  emit({ ...body, ...(uncommitted === undefined ? {} : { uncommitted }) })
}

function stoppedBy({ stop, control }: Ports, isComplete: boolean) {
  if (stop.aborted) return stopReasonOf(stop)
  return control.isStopAsked && !isComplete ? { signal: undefined, words: STOP_ASKED } : undefined
}
