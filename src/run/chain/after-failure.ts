import { stepAt } from '../../records/events/state.ts'
import { stepId } from '../../records/events/tree.ts'
import { firstStep, lastStep, type Node } from '../../chain/plan/plan.ts'
import { currentPlace, scopeOf } from '../place.ts'
import { isCancelled, isStopping, type Ports } from '../ports.ts'
import { groupState, instancesOf, type ItemEnd } from './instances.ts'
import type { OpenRun } from './open-run.ts'
import { runStep } from './run-step.ts'

/** Reasons after which `onFail` does not apply: they need a person, or time. */
const FINAL: readonly ItemEnd['reason'][] = ['interrupted', 'quota', 'auth']

/** The first step of the item that follows a failure; undefined if the list ends. */
export async function afterFailure(
  item: Node,
  { reason, jumps, closings }: ItemEnd,
  within: readonly string[],
  run: OpenRun,
): Promise<number | undefined> {
  const { ports, spending } = run
  if (isCancelled(ports) || FINAL.includes(reason) || spending.spentBudget() !== undefined)
    return undefined
  const onFail = item.policy?.onFail ?? { kind: 'stop' }
  if (isStopping(ports)) {
    if (onFail.kind !== 'stop' || (await leavesTasks(item, within, ports)))
      run.stopped.isUnhandled = true
    return undefined
  }
  switch (onFail.kind) {
    case 'stop':
      return (await leavesTasks(item, within, ports)) ? lastStep(item) + 1 : undefined
    case 'continue':
      return lastStep(item) + 1
    case 'goto': {
      const { step: to, times } = onFail
      if (jumps >= times) return undefined
      ports.emit({ type: 'jump', ...placeOfItem(item, within, ports), to, count: jumps + 1, times })
      return to
    }
    case 'run':
      await recover(onFail.step, closings, within, run)
      return undefined
  }
}

function placeOfItem(item: Node, within: readonly string[], { state }: Ports) {
  const [first] = instancesOf(item, within)
  if (first!.kind === 'step') return currentPlace(first, state())
  const { round } = groupState(state(), first!)
  return { scope: [...scopeOf(first!, round)], step: firstStep(item), group: item.id }
}

/** Runs the recovery of an item, unless it has already been run after this failure. */
async function recover(
  number: number,
  closings: number,
  within: readonly string[],
  run: OpenRun,
): Promise<void> {
  const found = run.plan.recoveries.find((each) => each.number === number)
  if (found === undefined) return
  const group = within.length === 0 ? undefined : within[0]
  const recovery = { ...found, id: stepId(number, true, group), within }
  const done = stepAt(run.ports.state(), recovery)
  if (done.isOpen || done.closings < closings) await runStep(recovery, run)
}

/** Whether a planner ended without the marker, and there are tasks to build. */
async function leavesTasks(
  item: Node,
  within: readonly string[],
  { tasks, state }: Ports,
): Promise<boolean> {
  if (item.kind !== 'step' || item.goesOnWithTasks !== true) return false
  const { reason, feedback, failures, iterations } = stepAt(state(), { ...item, within })
  if (feedback !== undefined || failures >= iterations) return false
  if (reason !== 'stalled' && reason !== 'max_iterations') return false
  return (await tasks.count()).open > 0
}
