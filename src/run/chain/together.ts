import type { End } from '../../records/events/schema.ts'
import { currentSteps, stepAt, type RunState } from '../../records/events/state.ts'
import { isSettled } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { ProgressWatch } from '../progress/progress-watch.ts'
import { scopeOf } from '../place.ts'
import { interrupted, isCancelled, isStopping, stopReason } from '../ports.ts'
import { groupState, nameOf, stateOf, stepsIn, type Instance } from './instances.ts'
import type { OpenRun } from './open-run.ts'
import { Builders, tasksBeside } from './builders.ts'
import { closeEnded, prepareBranches } from './in-branch.ts'
import { endStep } from './run-step.ts'

/** Runs steps and groups in parallel; with `isFailFast` the first failure cancels the others. */
export async function runTogether(
  instances: readonly Instance[],
  run: OpenRun,
  isFailFast: boolean,
  work: (instance: Instance, run: OpenRun) => Promise<void>,
): Promise<void> {
  const refused = await prepareBranches(instances, run)
  if (refused !== undefined) {
    for (const instance of instances) endInstance(instance, refused, run)
    return
  }
  const cancel = new AbortController()
  const stop = AbortSignal.any([run.ports.stop, cancel.signal])
  const builders = run.builders ?? new Builders(run.plan.run)
  const tasks = tasksBeside(run.ports.tasks, run.plan.run, run.ports)
  const ports = { ...run.ports, stop, tasks }
  const cwd = run.branch?.cwd ?? run.plan.cwd
  // Those that ended before this process was started, or in it, are not repeated.
  const isOpen = (each: Instance) => stateOf(ports.state(), each).reason === undefined
  const ended = instances.filter((each) => !isOpen(each))
  const runs = instances.filter(isOpen).map(async (instance) => {
    const keys = nextSteps(instance, ports.state())
    // All of them do this before the first agent starts, which may wait for the others.
    run.queues.attend(...keys)
    // Changes by the others do not count as progress of this one.
    const progress = new ProgressWatch({ ...run.plan, cwd }, ports)
    try {
      await work(instance, { ...run, ports, builders, progress })
    } catch (error) {
      cancel.abort()
      throw error
    } finally {
      await run.queues.leave(...keys)
    }
    const state = stateOf(ports.state(), instance)
    if (!isFailFast || isSettled(state) || isStopping(ports)) return
    const words = `${nameOf(instance)} did not complete`
    cancel.abort({ ...stopReason('SIGTERM', words), isCancelled: true })
  })
  const closed = ended.map((each) => closeEnded(each, run))
  const results = await Promise.allSettled([...runs, ...closed])
  for (const result of results) if (result.status === 'rejected') throw result.reason
  if (!isCancelled(ports)) return
  for (const instance of instances) endInstance(instance, interrupted(stop), run)
}

/** Keys of the steps with which a step or group begins or continues. */
function nextSteps(instance: Instance, state: RunState): string[] {
  const key = keyOfScope(scopeOf(instance, 1))
  if (instance.kind === 'step') return [key]
  const steps = currentSteps(state, key).filter(({ reason }) => reason === undefined)
  return steps.map((step) => step.key)
}

/** Ends items that have not ended and cannot continue. */
export function endInstance(instance: Instance, end: End, { ports }: OpenRun): void {
  const { emit, state } = ports
  for (const step of stepsIn(instance, state()))
    if (stepAt(state(), step).reason === undefined) endStep(step, end, ports)
  if (instance.kind === 'step') return
  const { reason, round, spent } = groupState(state(), instance)
  if (reason !== undefined) return
  const place = { scope: [...scopeOf(instance, Math.max(1, round))], group: instance.id }
  emit({ type: 'group_ended', ...place, round: Math.max(1, round), ...end, spent })
}
