import { statSync } from 'node:fs'
import { errorCode } from '../../base/errors.ts'
import type { Leftover, LeftInQueue, RunEvent } from '../../records/events/schema.ts'
import { firstOpen, next, stepAt, type RunState } from '../../records/events/state.ts'
import { isSettled, type StepState } from '../../records/events/step-state.ts'
import { stepsOf, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import { runCommand } from '../policy/command.ts'
import { runHooks } from '../policy/hooks.ts'
import { describeLeftovers } from '../process/family.ts'
import { openRun, type OpenRun } from './open-run.ts'
import { currentPlace, nextIteration } from '../place.ts'
import { EXIT_CODES, interrupted, STOP_ASKED, stopReasonOf, type Ports } from '../ports.ts'
import { endStep, runStep } from './run-step.ts'

/**
 * Carries out a plan, starting from its current state: its chain, or another `walk`. Everything that
 * happens is an event, and no process of the run outlives it.
 */
export async function runPlan(plan: Plan, ports: Ports, walk = walkChain): Promise<void> {
  const { worker } = announce(plan, ports)
  const run = await openRun(plan, ports)
  const { family, queues } = run
  let leftovers: Leftover[]
  try {
    await walk(run)
    await queues.endWork()
  } finally {
    // Even after a bug no agent may keep running unsupervised.
    leftovers = await family.end(ports.force)
  }
  const left = await queues.left()
  await queues.close()
  await finish(leftovers, left, worker, run)
}

/** Processes the started tasks of a run without running its steps. */
export async function runQueue(plan: Plan, ports: Ports): Promise<void> {
  ports.emit({ type: 'crew_started', version: ports.version, pid: process.pid })
  const { family, queues } = await openRun(plan, ports)
  try {
    await queues.begin()
    await queues.settle()
    await queues.endWork()
  } finally {
    const leftovers = await family.end(ports.force)
    if (leftovers.length > 0) {
      const text = `tasks left processes running, now ended: ${describeLeftovers(leftovers)}`
      ports.emit({ type: 'warning', text })
    }
  }
  ports.emit({ type: 'crew_ended', ...(await queues.queued()) })
  await queues.close()
  if (queues.damage !== undefined) throw queues.damage
}

/** Emits `run_started` or `run_resumed`. */
function announce(plan: Plan, { emit, record, lacks, lostMs, state, version }: Ports): RunEvent {
  const writer = { version, pid: process.pid }
  const lacking = lacks === undefined ? {} : { lacks }
  if (state().steps.length > 0) {
    const place = plan.isChat === true ? { step: 1 } : resumedPlace(plan, state())
    const where = { ...place, ...lacking, ...(lostMs === undefined ? {} : { lostMs }) }
    return emit({ type: 'run_resumed', ...writer, ...where, plan: { ...plan } })
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
    ...writer,
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
function resumedPlace(plan: Plan, before: RunState) {
  const state = next(before, { type: 'run_resumed', version: '', pid: process.pid })
  if (state.at > stepsOf(plan.root).length) return {}
  const known = stepAt(state, state.at)
  if ((known.ends ?? known.reason) !== undefined) return { step: state.at }
  return { step: state.at, iteration: known.isOpen ? nextIteration(known).iteration : 1 }
}

/** Runs the steps one after another, and ends those that never began as skipped. */
async function walkChain(run: OpenRun): Promise<void> {
  const { plan, ports, queues } = run
  await queues.begin()
  await queues.tearDownAgain()
  if (await mayBegin(run)) await runSteps(run)
  for (const step of stepsOf(plan.root)) {
    const { reason, isOpen } = stepAt(ports.state(), step.number)
    // A resumed run may be stopped before it continues its step.
    const end = isOpen ? interrupted(ports.stop) : { reason: 'skipped' as const }
    if (reason === undefined) endStep(step, end, ports)
  }
}

/** Checks the `when` of the chain, unless one of its steps has already begun. */
async function mayBegin(run: OpenRun): Promise<boolean> {
  const { plan, ports } = run
  const { steps } = ports.state()
  if (plan.when === undefined || steps.some(({ rounds }) => rounds > 0)) return true
  const { result, detail } = await runCommand({ role: 'when', command: plan.when }, run)
  if (result === 'ok') return true
  const words = `when: ${plan.when}`
  for (const step of stepsOf(plan.root)) {
    if (stepAt(ports.state(), step.number).isPassed) continue
    if (result === 'failed')
      endStep(step, { reason: 'skipped', detail: words, passed: true }, ports)
    else if (step.number === 1 && result === 'broken')
      endStep(step, { reason: 'error', detail: `${words}: ${detail}` }, ports)
  }
  return false
}

async function runSteps(run: OpenRun): Promise<void> {
  const { plan, ports } = run
  const steps = stepsOf(plan.root)
  let at = ports.state().at
  // An earlier process may have ended between a failure and its `onFail`.
  let isOver = stepAt(ports.state(), at).reason !== undefined
  for (let step = steps[at - 1]; step !== undefined && !isStopping(ports); step = steps[at - 1]) {
    if (!isOver) await runStep(step, run)
    isOver = false
    const known = stepAt(ports.state(), at)
    const then = isSettled(known) ? at + 1 : await afterFailure(step, known, run)
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
  run: OpenRun,
): Promise<number | undefined> {
  const { plan, ports, spending } = run
  const { reason, jumps, closings } = known
  const { onFail } = step.policy
  if (FINAL.includes(reason) || isStopping(ports)) return undefined
  if (spending.spentBudget() !== undefined) return undefined
  switch (onFail.kind) {
    case 'stop':
      return (await leavesTasks(step, known, ports)) ? step.number + 1 : undefined
    case 'continue':
      return step.number + 1
    case 'goto': {
      const { step: to, times } = onFail
      if (jumps >= times) return undefined
      const place = currentPlace(step, ports.state())
      ports.emit({ type: 'jump', ...place, to, count: jumps + 1, times })
      return to
    }
    case 'run': {
      const recovery = plan.recoveries.find(({ number }) => number === onFail.step)
      const done = stepAt(ports.state(), onFail.step)
      if (recovery !== undefined && (done.isOpen || done.closings < closings))
        await runStep(recovery, run)
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

async function finish(
  leftovers: Leftover[],
  queue: LeftInQueue | undefined,
  worker: string,
  run: OpenRun,
): Promise<void> {
  const { plan, ports, family, queues, progress } = run
  const { emit, stop, force, state } = ports
  const steps = state().steps.filter(({ isRecovery }) => isRecovery !== true)
  const isComplete = steps.every(isSettled)
  const stopped = stoppedBy(ports, isComplete)
  const isQueued = state().steps.every(({ notQueued = [] }) => notQueued.length === 0)
  const gone = whyGone(plan.cwd)
  if (gone !== undefined) emit({ type: 'warning', text: `${gone}; ${whereRecordIs(ports)}` })
  const isClean = isComplete && isQueued && queues.isSound && gone === undefined
  const exitCode = stopped?.signal === undefined ? (isClean ? 0 : 1) : EXIT_CODES[stopped.signal]
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
    // Without a sequence number: it is emitted after the events of the hook.
    const stamp = { at: new Date().toISOString(), run: plan.run, worker }
    // The hook runs even after a stop; a second stop ends it, too.
    const until = stop.aborted ? force : stop
    await runHooks('afterRun', { ...ports.mask(body), ...stamp }, undefined, run, until)
    await family.end(force)
  }
  // After the hook, which may commit; not after a stop, which should not wait for git.
  const uncommitted = stop.aborted ? undefined : await progress.countUncommitted()
  emit({ ...body, ...(uncommitted === undefined ? {} : { uncommitted }) })
}

/** Why the project folder can no longer be used; undefined if it can. */
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
  const place = recordPlace()
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
