import { errorText } from '../../base/errors.ts'
import { branchAt } from '../../records/events/branch-state.ts'
import type { EventBody } from '../../records/events/event.ts'
import type { End, Reason } from '../../records/events/schema.ts'
import { groupAt, isEverythingSettled, type RunState } from '../../records/events/state.ts'
import { isComplete, isSettled } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { lastSteps, NO_STEPS, type StepNode } from '../../chain/plan/plan.ts'
import type { OpenBranch } from '../branches/open-branch.ts'
import { scopeOf } from '../place.ts'
import { interrupted, isStopping } from '../ports.ts'
import { StopError } from '../process/git.ts'
import { ProgressWatch } from '../progress/progress-watch.ts'
import { tasksBeside } from './builders.ts'
import {
  nameOf,
  stateOf,
  stepInstances,
  stepsIn,
  type GroupInstance,
  type Instance,
} from './instances.ts'
import type { OpenRun } from './open-run.ts'
import type { Judgement } from './judge.ts'

/**
 * Runs a step or group in its own worktree, which is removed once its work is merged. Returns an end if it
 * could not begin.
 */
export async function inBranch(
  instance: Instance,
  run: OpenRun,
  work: (run: OpenRun) => Promise<void>,
): Promise<End | undefined> {
  const { branches, ports } = run
  const placed = firstStepOf(instance, ports.state())
  const all = await branches.load()
  const opened = await all.open({
    scope: branchScope(instance),
    plan: instance.branch!,
    lastSteps: lastSteps(instance),
    name: nameOf(instance),
    step: placed,
    outer: run.branch,
  })
  if ('reason' in opened) return opened
  await work(insideBranch(opened, run))
  const state = ports.state()
  // A resume continues a branch that is not complete.
  if (isStopping(run.ports) && !isSettledIn(state, instance)) return undefined
  const isCut = isStopping(run.ports) || reasonIn(state, instance) === 'cancelled'
  await all.close(opened, opened.place(placed), !isCut)
  run.builders?.changed()
  return undefined
}

/** Merges what a branch did before it ended, if an earlier process was killed before it could. */
export async function closeEnded(instance: Instance, run: OpenRun): Promise<void> {
  if (branchAt(run.ports.state(), branchScope(instance))?.isOpen === true)
    await inBranch(instance, run, () => Promise.resolve())
}

/** Removes branches that were already complete when an earlier process was killed. */
export async function closeSettled({ branches, ports }: OpenRun): Promise<void> {
  const state = ports.state()
  const isSettledAt = (key: string) => {
    if (key === '') return isEverythingSettled(state)
    const found = state.steps.find((step) => step.key === key) ?? groupAt(state, key)
    return found !== undefined && isSettled(found)
  }
  const left = (state.branches ?? []).filter(
    (each) => each.isOpen && isSettledAt(keyOfScope(each.scope)),
  )
  // Inner branches first.
  const inner = left.toSorted((one, other) => other.scope.length - one.scope.length)
  if (inner.length > 0) await (await branches.load()).closeAll(inner)
}

/** The whole chain as a branch has no scope. */
function branchScope(instance: Instance): readonly string[] {
  return isWhole(instance) ? [] : scopeOf(instance, 1)
}

function isWhole({ id }: Instance): boolean {
  return id === NO_STEPS.id
}

/** For the environment of commands that belong to no step. */
function firstStepOf(instance: Instance, state: RunState): StepNode {
  const isGroup = isWhole(instance) && instance.kind !== 'step'
  const steps = isGroup
    ? instance.of.flatMap((part) => stepInstances(part, instance.within, state))
    : stepsIn(instance, state)
  return steps[0]!
}

function isSettledIn(state: RunState, instance: Instance): boolean {
  return isWhole(instance) ? isEverythingSettled(state) : isSettled(stateOf(state, instance))
}

function reasonIn(state: RunState, instance: Instance): Reason | undefined {
  return isWhole(instance) ? undefined : stateOf(state, instance).reason
}

/** Before branches start together: the end of all of them if worktrees are impossible. */
export async function prepareBranches(
  instances: readonly Instance[],
  { branches, branch, ports }: OpenRun,
): Promise<End | undefined> {
  const isNew = (each: Instance) => branchAt(ports.state(), branchScope(each))?.isOpen !== true
  const news = instances.filter((each) => each.branch?.isolation === 'worktree' && isNew(each))
  return news.length === 0 ? undefined : (await branches.load()).prepare(branch)
}

/** Once all steps of a group that is a branch are complete, merges it. */
export async function mergeGroup(
  group: GroupInstance,
  { branch, ports }: OpenRun,
): Promise<End | 'stopped' | undefined> {
  if (branch === undefined || branch.scope.join('/') !== branchScope(group).join('/'))
    return undefined
  try {
    const unfinished = await branch.commitRest()
    if (unfinished !== undefined) return { reason: 'error', detail: unfinished }
    if (!(await branch.hasUnmerged())) return undefined
  } catch (error) {
    return error instanceof StopError ? 'stopped' : brokenEnd(branch, error)
  }
  const step = branch.place(firstStepOf(group, ports.state()))
  return (await branch.handIn(step)) === undefined ? 'stopped' : branch.refusal
}

/** A branch in which git fails is not complete. */
function brokenEnd({ tree }: OpenBranch, error: unknown): End {
  if (!(error instanceof Error)) throw error
  return { reason: 'error', detail: `git failed in ${tree.path}: ${errorText(error)}` }
}

/** The run as seen from inside a branch. */
function insideBranch(branch: OpenBranch, run: OpenRun): OpenRun {
  const { plan } = run
  const tasks = run.ports.tasksIn(branch.cwd)
  const own = run.builders === undefined ? tasks : tasksBeside(tasks, plan.run, run.ports)
  const ports = { ...run.ports, tasks: own }
  const progress = new ProgressWatch({ ...plan, cwd: branch.cwd }, ports)
  return { ...run, branch, ports, progress }
}

type Handing = Partial<
  Pick<EventBody & { type: 'iteration_ended' }, 'tip' | 'handsIn' | 'ends' | 'outcome' | 'again'>
>

/** After an iteration in a branch: its last commit, and whether to merge it now, or why it cannot be merged. */
export async function prepareHandIn(
  step: StepNode,
  { ends, isAgain = false }: Judgement,
  taskIds: readonly string[],
  run: OpenRun,
): Promise<Handing> {
  const { branch, ports } = run
  if (branch === undefined) return {}
  try {
    return await settle(branch)
  } catch (error) {
    if (error instanceof StopError)
      return { outcome: { kind: 'interrupted' }, again: true, ends: interrupted(ports.stop) }
    const end = brokenEnd(branch, error)
    if (isComplete(ends?.reason)) return { ends: end }
    ports.emit({ type: 'warning', text: end.detail! })
    return {}
  }

  async function settle(of: OpenBranch): Promise<Handing> {
    const isDone = isComplete(ends?.reason) && of.lastSteps.has(step.number)
    const statuses = isAgain ? [] : await Promise.all(taskIds.map((id) => statusOf(id, run)))
    const hasFinished = statuses.includes('Done')
    // Work that was sent back is handed in again, because it may be fixed now.
    const isRefused = !isAgain && of.refusal !== undefined
    const isDue = isDone || hasFinished || statuses.includes('Blocked') || isRefused
    // The work of its sub-agents belongs to the branch, which must not change while it is merged.
    if (isDue) await run.queues.endTasks(step, isDone ? ends : undefined)
    await of.settle()
    const unfinished = isDone || hasFinished ? await of.commitRest() : undefined
    if (!isDone && !hasFinished && statuses.includes('Blocked'))
      await of.commitTasks(ports.tasks.folder())
    const tip = await of.secureTip()
    if (tip === undefined) throw new Error(`the branch ${of.tree.branch} was deleted`)
    if (isDone && unfinished !== undefined)
      return { tip, ends: { reason: 'error', detail: unfinished } }
    const handsIn = isDue && (await of.hasUnmerged())
    return { tip, ...(handsIn ? { handsIn } : {}) }
  }
}

async function statusOf(id: string, { ports }: OpenRun): Promise<string | undefined> {
  try {
    return (await ports.tasks.find(id)).status
  } catch {
    return undefined // It was deleted, or cannot be read.
  }
}
