import { counted } from '../../base/amounts.ts'
import type { End, Reason } from '../../records/events/schema.ts'
import { firstOpen, positionIn, stepAt } from '../../records/events/state.ts'
import { isComplete, isSettled } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { firstStep, lastStep, type Node, type StepNode } from '../../chain/plan/plan.ts'
import { runCommand } from '../policy/command.ts'
import { scopeOf } from '../place.ts'
import { isStopping } from '../ports.ts'
import { afterFailure } from './after-failure.ts'
import {
  decisiveEnd,
  endOf,
  groupState,
  instancesOf,
  isRepeated,
  nameOf,
  stateOf,
  stepInstances,
  type GroupInstance,
  type Instance,
  type ItemEnd,
} from './instances.ts'
import type { OpenRun } from './open-run.ts'
import { endStep, runStep } from './run-step.ts'
import { inBranch, mergeGroup } from './in-branch.ts'
import { endInstance, runTogether } from './together.ts'

/** Runs items one after another, starting where the state left off; `within` is the scope of their group. */
export async function runSequence(
  items: readonly Node[],
  within: readonly string[],
  run: OpenRun,
): Promise<void> {
  const { ports } = run
  const list = keyOfScope(within)
  const find = (first: number) => items.find((item) => firstStep(item) === first)
  let item = find(positionIn(ports.state(), list))
  // An earlier process may have ended between a failure and its `onFail`.
  let isOver = item !== undefined && endOf(item, within, ports.state()).reason !== undefined
  while (item !== undefined && !isStopping(ports)) {
    // Work of copies that ended may still have to be merged.
    if (!isOver || item.copies !== undefined) await runItem(item, within, run)
    isOver = false
    const end = endOf(item, within, ports.state())
    const then = end.isSettled ? lastStep(item) + 1 : await afterFailure(item, end, within, run)
    if (then === undefined) return
    // After a jump back, later items may be done already.
    item = find(firstOpen(ports.state(), list, then))
  }
}

/** Runs all copies of a step or group that are not settled. */
async function runItem(item: Node, within: readonly string[], run: OpenRun): Promise<void> {
  const instances = instancesOf(item, within)
  if (item.copies === undefined) await runInstance(instances[0]!, run)
  else await runTogether(instances, run, item.branch?.failFast === true, runInstance)
}

async function runInstance(instance: Instance, run: OpenRun): Promise<void> {
  if (isSettled(stateOf(run.ports.state(), instance))) return
  const work = (inner: OpenRun) =>
    instance.kind === 'step' ? runStep(instance, inner) : runGroup(instance, inner)
  if (instance.branch?.isolation !== 'worktree') return work(run)
  const refused = await inBranch(instance, run, work)
  if (refused !== undefined) endInstance(instance, refused, run)
}

/** Runs the rounds of a group, and continues a round that an earlier process began. */
async function runGroup(group: GroupInstance, run: OpenRun): Promise<void> {
  const { emit, state } = run.ports
  const { isOpen, round: last } = groupState(state(), group)
  let isNew = !isOpen
  for (let round = isOpen ? last : last + 1; ; round += 1) {
    const place = { scope: [...scopeOf(group, round)], group: group.id, round }
    if (isNew) emit({ type: 'group_started', ...place })
    const end = await runRound(group, place, run)
    // A stopped group stays open, so that a resume continues its round.
    if (end === 'stopped') return
    if (end !== 'again') {
      emit({ type: 'group_ended', ...place, ...end, spent: groupState(state(), group).spent })
      return
    }
    isNew = true
  }
}

type RoundEnd = GroupEnd | 'again' | 'stopped'

interface Round {
  readonly scope: readonly string[]
  readonly round: number
}

async function runRound(group: GroupInstance, round: Round, run: OpenRun): Promise<RoundEnd> {
  const unmet = await checkCondition(group, round, run)
  if (unmet !== undefined) return unmet
  await runItems(group, round.scope, run)
  const end = endOfRound(group, round.scope, run)
  if (typeof end === 'string' || !isComplete(end.reason)) return end
  const refused = await mergeGroup(group, run)
  if (refused === undefined || refused === 'stopped') return refused ?? end
  const { usedRounds } = groupState(run.ports.state(), group)
  const isLeft = group.rounds !== undefined && round.round - usedRounds < group.rounds
  return isRepeated(refused.reason) && isLeft ? 'again' : refused
}

/** The end of a group whose condition is not met; checked once, before the first step of the first round. */
async function checkCondition(
  group: GroupInstance,
  { scope, round }: Round,
  run: OpenRun,
): Promise<RoundEnd | undefined> {
  const { when } = group.policy ?? {}
  if (when === undefined || round > 1) return undefined
  const steps = group.of.flatMap((item) => stepInstances(item, scope, run.ports.state()))
  if (steps.some((each) => hasBegun(each, run))) return undefined
  const step = run.branch?.place(steps[0]!) ?? steps[0]!
  const answer = await runCommand({ role: 'when', command: when, step, group: scope }, run)
  const detail = `when: ${when}`
  if (answer.result === 'stopped') return 'stopped'
  if (answer.result === 'broken') return { reason: 'error', detail: `${detail}: ${answer.detail}` }
  if (answer.result === 'ok') return undefined
  for (const item of group.of) passItem(item, detail, scope, run)
  return { reason: 'skipped', detail, passed: true }
}

function hasBegun(step: StepNode, { ports }: OpenRun): boolean {
  const { rounds, earlierRounds = 0 } = stepAt(ports.state(), step)
  return rounds > earlierRounds
}

async function runItems(
  { kind, of, policy }: GroupInstance,
  scope: readonly string[],
  run: OpenRun,
): Promise<void> {
  switch (kind) {
    case 'sequence':
      return runSequence(of, scope, run)
    case 'fallback':
      return runFallback(of, scope, run)
    case 'parallel': {
      const instances = of.flatMap((item) => instancesOf(item, scope))
      return runTogether(instances, run, policy?.failFast === true, runInstance)
    }
  }
}

/** Runs one item after another until one completes; the rest are then skipped. */
async function runFallback(
  items: readonly Node[],
  within: readonly string[],
  run: OpenRun,
): Promise<void> {
  const { ports, spending } = run
  const state = ports.state()
  const isDone = (item: Node) => isComplete(endOf(item, within, ports.state()).reason)
  // An earlier process may have ended between the end of an item and that of the group.
  const done = items.find(isDone)
  const position = positionIn(state, keyOfScope(within))
  const from = items.findIndex((item) => firstStep(item) === position)
  let isOver = endOf(items[from] ?? items[0]!, within, state).reason !== undefined
  for (const item of done === undefined ? items.slice(Math.max(0, from)) : [done]) {
    if (isStopping(ports)) return
    const mayRun = !isOver || item.copies !== undefined
    if (mayRun && item !== done) await runItem(item, within, run)
    isOver = false
    const others = items.slice(items.indexOf(item) + 1)
    if (isDone(item)) {
      const detail = `not needed: ${nameOf(item)} completed`
      for (const other of others) passItem(other, detail, within, run)
      return
    }
    const { reason } = endOf(item, within, ports.state())
    if (reason === 'interrupted' || spending.spentBudget() !== undefined) return
    if (isStopping(ports) && others.length > 0) run.stopped.isUnhandled = true
  }
}

/** Ends the steps of an item that does not have to run. */
function passItem(item: Node, detail: string, within: readonly string[], run: OpenRun): void {
  const { ports } = run
  for (const step of stepInstances(item, within, ports.state())) {
    if (!stepAt(ports.state(), step).isPassed)
      endStep(step, { reason: 'skipped', detail, passed: true }, ports)
  }
}

/** How a group continues after a round. */
function endOfRound(group: GroupInstance, scope: readonly string[], run: OpenRun): RoundEnd {
  const { ports, stopped } = run
  const state = ports.state()
  const ends = group.of.map((item) => endOf(item, scope, state))
  const isAll = ends.every((end) => end.isSettled)
  const isDone = {
    sequence: isAll || (group.rounds !== undefined && isComplete(ends.at(-1)!.reason)),
    parallel: isAll,
    fallback: isAll || ends.some(({ reason }) => isComplete(reason)),
  }
  if (isDone[group.kind]) return completeEnd(ends)
  // Items that never began are skipped. If a list continued after failures, the last failure ended it.
  const open = ends.filter(
    (end) => !end.isSettled && end.reason !== undefined && end.reason !== 'skipped',
  )
  const failed = group.kind === 'parallel' ? decisiveEnd(open) : open.at(-1)
  const { round, usedRounds } = groupState(state, group)
  const { rounds } = group
  const isAgain = rounds !== undefined && isRepeated(failed?.reason)
  const isLeft = rounds !== undefined && round - usedRounds < rounds
  if (isStopping(ports) || failed?.reason === undefined || failed.reason === 'interrupted') {
    if (isAgain && isLeft) stopped.isUnhandled = true
    return 'stopped'
  }
  if (!isAgain) return withDetail(failed.reason, failed.detail)
  return isLeft ? 'again' : { reason: 'max_iterations', detail: counted(rounds, 'round') }
}

type GroupEnd = End & { readonly passed?: true }

/** The reason of the last completed item; all may have been skipped by conditions. */
function completeEnd(ends: readonly ItemEnd[]): GroupEnd {
  const last = ends.findLast(({ reason }) => isComplete(reason))
  if (last?.reason === undefined)
    return { reason: 'skipped', detail: 'all of its steps were skipped', passed: true }
  return withDetail(last.reason, last.detail)
}

function withDetail(reason: Reason, detail: string | undefined): End {
  return { reason, ...(detail === undefined ? {} : { detail }) }
}
