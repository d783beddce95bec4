import { dropUndefined } from '../../base/objects.ts'
import { statSync } from 'node:fs'
import { errorCode } from '../../base/errors.ts'
import type { AsideWork, Leftover, LeftInQueue, RunEvent } from '../../records/events/schema.ts'
import { next } from '../../records/events/fold.ts'
import {
  currentSteps,
  isEverythingSettled,
  stepAt,
  type RunState,
} from '../../records/events/state.ts'
import { isSettled } from '../../records/events/step-state.ts'
import type { Plan, StepNode } from '../../chain/plan/plan.ts'
import { summarize } from '../../chain/plan/summarize.ts'
import { runCommand } from '../policy/command.ts'
import { runHooks } from '../policy/hooks.ts'
import { describeLeftovers } from '../process/run-processes.ts'
import { openRun, type OpenRun } from './open-run.ts'
import { closeSettled, inBranch, mergeGroup, prepareBranches } from './in-branch.ts'
import { stepInstances, type GroupInstance } from './instances.ts'
import { nextIteration } from '../place.ts'
import { EXIT_CODES, interrupted, STOP_ASKED, stopReasonOf, type Ports } from '../ports.ts'
import { endStep } from './run-step.ts'
import { runSequence } from './walk.ts'

/**
 * Executes a plan from its current state: its chain, or another `walk`. Everything that happens is an event,
 * and no process outlives the run.
 */
export async function runPlan(plan: Plan, ports: Ports, walk = walkChain): Promise<void> {
  const { worker } = announce(plan, ports)
  const run = await openRun(plan, ports)
  const { processes, queues } = run
  let leftovers: Leftover[]
  let aside: AsideWork[] = []
  try {
    await walk(run)
    await queues.endWork()
    aside = await run.branches.end()
  } finally {
    // Not even a bug may leave an agent running unsupervised.
    leftovers = await processes.end(ports.force)
  }
  const left = await queues.left()
  await queues.close()
  await finish({ leftovers, queue: left, aside }, worker, run)
}

/** Processes the started tasks of a run without running its steps. */
export async function runQueue(plan: Plan, ports: Ports): Promise<void> {
  ports.emit({ type: 'crew_started', version: ports.version, pid: process.pid })
  const { processes, queues } = await openRun(plan, ports)
  try {
    await queues.begin()
    await queues.waitForTasks()
    await queues.endWork()
  } finally {
    const leftovers = await processes.end(ports.force)
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
function announce(plan: Plan, ports: Ports): RunEvent {
  const { emit, record, lacks, lostMs, state, version, env } = ports
  const outerRun = env['FORKHESTRA_RUN_ID'] || undefined
  const writer = { version, pid: process.pid }
  if (state().steps.length > 0) {
    const place = plan.isChat === true ? { step: 1 } : resumedPlace(state())
    const where = { ...place, ...dropUndefined({ lacks, lostMs }) }
    return emit({ type: 'run_resumed', ...writer, ...where, plan: { ...plan } })
  }
  return emit({
    type: 'run_started',
    schema: 1,
    ...writer,
    cwd: plan.cwd,
    ...dropUndefined({ chain: plan.chain, record, outerRun, lacks }),
    ...summarize(plan),
    plan: { ...plan },
  })
}

/** Where a resumed run continues; without an iteration if only the end of the step is missing. */
function resumedPlace(before: RunState) {
  const state = next(before, { type: 'run_resumed', version: '', pid: process.pid })
  const all = currentSteps(state)
  // Complete copies do not run again.
  const known = all.find((step) => !isSettled(step)) ?? all[0]
  if (known === undefined) return {}
  const { number: step, isOpen } = known
  if ((known.ends ?? known.reason) !== undefined) return { step }
  return { step, iteration: isOpen ? nextIteration(known).iteration : 1 }
}

/** Runs the steps in order, and ends those that never began as skipped. */
async function walkChain(run: OpenRun): Promise<void> {
  const { plan, ports, queues } = run
  await queues.begin()
  await run.branches.recover()
  await closeSettled(run)
  await queues.tearDownAgain()
  if (await mayBegin(run)) {
    if (plan.root.branch === undefined) await runSequence(plan.root.of, [], run)
    else await runInWorktree({ ...plan.root, within: [] }, run)
  }
  for (const step of allSteps(run)) {
    const { reason, isOpen } = stepAt(ports.state(), step)
    // A resumed run may be stopped before it continues its step.
    const end = isOpen ? interrupted(ports.stop) : { reason: 'skipped' as const }
    if (reason === undefined) endStep(step, end, ports)
  }
}

/** Runs the whole chain as one branch. */
async function runInWorktree(chain: GroupInstance, run: OpenRun): Promise<void> {
  const refused =
    (await prepareBranches([chain], run)) ??
    (await inBranch(chain, run, async (inner) => {
      await runSequence(chain.of, [], inner)
      if (isEverythingSettled(run.ports.state())) await mergeGroup(chain, inner)
    }))
  const [first] = allSteps(run)
  if (refused !== undefined) endStep(first!, refused, run.ports)
}

/** All instances of steps in their current rounds. */
function allSteps({ plan, ports }: OpenRun): StepNode[] {
  const state = ports.state()
  return plan.root.of.flatMap((item) => stepInstances(item, [], state))
}

/** Checks the `when` of the chain, unless one of its steps has already begun. */
async function mayBegin(run: OpenRun): Promise<boolean> {
  const { plan, ports } = run
  const { steps } = ports.state()
  if (plan.when === undefined || steps.some(({ rounds }) => rounds > 0)) return true
  const { result, detail } = await runCommand({ role: 'when', command: plan.when }, run)
  if (result === 'ok') return true
  const words = `when: ${plan.when}`
  for (const step of allSteps(run)) {
    if (stepAt(ports.state(), step).isPassed) continue
    if (result === 'failed')
      endStep(step, { reason: 'skipped', detail: words, passed: true }, ports)
    else if (step.number === 1 && result === 'broken')
      endStep(step, { reason: 'error', detail: `${words}: ${detail}` }, ports)
  }
  return false
}

/** What a run leaves behind. */
interface LeftBehind {
  readonly leftovers: Leftover[]
  readonly queue: LeftInQueue | undefined
  readonly aside: AsideWork[]
}

async function finish(
  { leftovers, queue, aside }: LeftBehind,
  worker: string,
  run: OpenRun,
): Promise<void> {
  const { plan, ports, processes, queues, progress } = run
  const { emit, stop, force, state } = ports
  const isComplete = isEverythingSettled(state())
  const stopped = stoppedBy(ports, isComplete)
  const isQueued = state().steps.every(({ notQueued = [] }) => notQueued.length === 0)
  const gone = whyGone(plan.cwd)
  if (gone !== undefined) emit({ type: 'warning', text: `${gone}; ${whereRecordIs(ports)}` })
  const isMerged = (state().branches ?? []).every(
    ({ scope, lastMerge }) => scope.length > 0 || (lastMerge?.result ?? 'merged') === 'merged',
  )
  const isClean = isMerged && isComplete && isQueued && queues.isSound && gone === undefined
  const exitCode = stopped?.signal === undefined ? (isClean ? 0 : 1) : EXIT_CODES[stopped.signal]
  const body = {
    type: 'run_ended' as const,
    ok: exitCode === 0,
    exitCode,
    ...(stopped === undefined ? {} : { stopped }),
    ...(run.stopped.isUnhandled ? { unhandled: true } : {}),
    leftovers,
    spent: state().spent,
    ...(queue === undefined ? {} : { queue }),
    ...(aside.length === 0 ? {} : { aside }),
  }
  if (plan.hooks.afterRun !== undefined && !force.aborted) {
    // Without a sequence number: it is emitted after the events of the hook.
    const stamp = { at: new Date().toISOString(), run: plan.run, worker }
    // The hook runs even after a stop; a second stop also ends the hook.
    const until = stop.aborted ? force : stop
    await runHooks('afterRun', { ...ports.mask(body), ...stamp }, undefined, run, until)
    await processes.end(force)
  }
  // Runs after the hook, which may commit; skipped after a stop, which should not wait for git.
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
