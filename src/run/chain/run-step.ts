import { withoutSkips } from '../../base/awake.ts'
import { dropUndefined } from '../../base/objects.ts'
import type { EventBody } from '../../records/events/event.ts'
import type { End, RunEvent } from '../../records/events/schema.ts'
import { stepAt } from '../../records/events/state.ts'
import { isComplete } from '../../records/events/step-state.ts'
import { keyOf } from '../../records/events/tree.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { nothingToBuild } from '../../chain/plan/task-verdict.ts'
import { runCommand } from '../policy/command.ts'
import { askGates, endWithout } from '../policy/gates.ts'
import { runHooks } from '../policy/hooks.ts'
import type { OpenRun } from './open-run.ts'
import { Patience, waitTooLong, type Pause } from '../policy/patience.ts'
import { currentPlace, iterationPlace, nextIteration, placeOf } from '../place.ts'
import { interrupted, isStopping, type Ports } from '../ports.ts'
import { runIteration } from './run-iteration.ts'
import { countTasks, newlyOpen } from '../policy/task-check.ts'
import { waitFor } from '../policy/waiting.ts'

type StepEnded = EventBody & { type: 'step_ended' }

/** How a step ends; `passed` is set if it was skipped by its `when`. */
type StepEnd = End &
  Partial<Pick<StepEnded, 'passed' | 'deletedTasks' | 'blockedTasks' | 'failures'>>

/** Runs one agent, once or in a loop, and continues a step that an earlier process began. */
export async function runStep(node: StepNode, run: OpenRun): Promise<void> {
  const step = run.branch?.place(node) ?? node
  const { ports, queues } = run
  queues.attend(keyOf(step))
  try {
    const end = (await begin(step, run)) ?? (await work(step, run))
    if (isComplete(end.reason)) await warnOfEnd(step, run)
    const event = endStep(step, { ...end, ...(await affectedTasks(step, end, ports)) }, ports)
    if (!ports.stop.aborted) await runHooks('afterStep', event, step, run)
  } finally {
    await queues.leave(keyOf(step))
  }
}

/** Warns if a completed step overspent, or had nothing to build. */
async function warnOfEnd(step: StepNode, { ports, spending }: OpenRun): Promise<void> {
  const warn = (text: string) => ports.emit({ type: 'warning', text })
  const overspent = spending.overspent(step)
  if (overspent !== undefined) warn(overspent)
  const hasRun = stepAt(ports.state(), step).iterations > 0
  const nothing = hasRun ? await nothingToBuild(step, () => countTasks(step, ports)) : undefined
  if (nothing?.cause === 'no_tasks')
    warn(`step ${step.number} (${step.agent.name}) built nothing: there are no tasks`)
}

/** For the end of a step that builds from tasks: the tasks that need a person. */
async function affectedTasks(step: StepNode, { reason }: End, ports: Ports) {
  if (step.agent.finishesTasks !== true) return {}
  const { deleted, blockedTasks: blocked } = await countTasks(step, ports)
  // An agent that reported itself as blocked has already said why.
  const isByTasks =
    reason === 'blocked' && stepAt(ports.state(), step).lastOutcome?.kind !== 'blocked'
  return {
    ...(deleted.length === 0 ? {} : { deletedTasks: [...deleted] }),
    ...(isByTasks && blocked.length > 0 ? { blockedTasks: [...blocked] } : {}),
  }
}

/** Emits the end of a step, whether or not it has begun. */
export function endStep(
  step: StepNode,
  { reason, ...rest }: StepEnd,
  { emit, state }: Ports,
): RunEvent {
  const { isOpen, iterations, failures, spent } = stepAt(state(), step)
  return emit({
    type: 'step_ended',
    ...currentPlace(step, state()),
    agent: step.agent.name,
    reason,
    iterations: isOpen ? iterations : 0,
    failures: isOpen ? failures : 0,
    ...rest,
    spent,
  })
}

/** Checks `when` and runs the hook before the step; undefined if the agent may start. */
async function begin(step: StepNode, run: OpenRun): Promise<StepEnd | undefined> {
  const { ports } = run
  const { isOpen, rounds, earlierRounds, iterations } = stepAt(ports.state(), step)
  if (isOpen && iterations > 0) return undefined
  const { when } = step.policy
  const event = ports.emit({
    type: 'step_started',
    ...placeOf(step, isOpen ? rounds : rounds + 1, earlierRounds),
    agent: step.agent.name,
    ...dropUndefined({ maxIterations: step.loop, when }),
    ...(await newlyOpen(step, ports)),
  })
  if (when !== undefined) {
    const answer = await runCommand({ role: 'when', command: when, step }, run)
    if (answer.result === 'failed')
      return { reason: 'skipped', detail: `when: ${when}`, passed: true }
    const end = endWithout(answer, 'when', when, run)
    if (end !== undefined) return end
  }
  const problem = await runHooks('beforeStep', event, step, run)
  return problem === undefined ? undefined : { reason: 'error', detail: problem }
}

async function work(step: StepNode, run: OpenRun): Promise<End> {
  const idle = await withoutWork(step, run)
  const end = idle ?? (await loop(step, run).finally(run.builders?.enter(step)))
  if (idle === undefined || stepAt(run.ports.state(), step).iterations > 0)
    await run.queues.endStep(step, end)
  return end
}

/**
 * The end of a step whose agent builds from tasks and has nothing to do. Applies to the first step and to a
 * resumed one; without any tasks, also to later steps, unless a jump led back to them.
 */
async function withoutWork(step: StepNode, run: OpenRun): Promise<End | undefined> {
  const { ports } = run
  if (hasOwnWork(step, run)) return undefined
  const state = ports.state()
  const end = await nothingToBuild(step, () => countTasks(step, ports))
  const { iterations, rounds, ends } = stepAt(state, step)
  if (end === undefined || ends !== undefined) return undefined
  const isFirst = state.steps.every(
    ({ number, rounds: begun }) => number === step.number || begun === 0,
  )
  const isEmpty = end.cause === 'no_tasks'
  if (!isFirst && iterations === 0 && (!isEmpty || rounds > 1)) return undefined
  if (end.reason === 'blocked' && (isFirst || !isEmpty)) return end
  // A failing gate means that there is work for the agent.
  const { gate, ends: broken } = await askGates(step, undefined, run)
  if (broken?.reason === 'error') return broken
  if (gate?.isOpen === true) return { ...end, reason: 'until' }
  run.builders?.gateFailed(step)
  return undefined
}

/** Whether its branch has work besides tasks: a refused merge, or an interrupted iteration. */
function hasOwnWork(step: StepNode, { branch, ports }: OpenRun): boolean {
  if (branch === undefined) return false
  const { isAgain, running } = stepAt(ports.state(), step)
  return isAgain || running !== undefined || branch.refusal !== undefined
}

/** How the tasks end a step; undefined if its gates fail. The gates run only if they have failed before. */
async function confirm(step: StepNode, end: End, run: OpenRun): Promise<End | undefined> {
  if (end.reason !== 'until') return end
  if (run.builders?.hasFailedGate(step) === true) return undefined
  if (stepAt(run.ports.state(), step).feedback === undefined) return end
  const { gate, ends } = await askGates(step, undefined, run)
  return ends ?? (gate?.isOpen === true ? end : undefined)
}

async function loop(step: StepNode, run: OpenRun): Promise<End> {
  const { ports, spending, branch } = run
  const patience = new Patience(step.policy)
  let pause: Pause | undefined
  /** How many times in a row it has waited for other branches. */
  let waits = 0
  for (;;) {
    const known = stepAt(ports.state(), step)
    if (known.handsIn === true && branch !== undefined) {
      if ((await branch.handIn(step)) === undefined) return interrupted(ports.stop)
      run.builders?.changed()
      continue
    }
    if (known.ends !== undefined) return known.ends
    if (ports.stop.aborted || ports.control.isStopRequested) return interrupted(ports.stop)
    const broke = spending.spentBudget(step)
    if (broke !== undefined) return broke
    const place = iterationPlace(step, ports.state(), nextIteration(known))
    const shared = pause === undefined ? sharedPause(step, patience, run) : undefined
    if (shared !== undefined && 'reason' in shared) return shared
    pause ??= shared
    if (pause !== undefined) {
      if (spending.spentBudget(step, withoutSkips(pause.until)) !== undefined)
        return { reason: 'budget', detail: waitTooLong(pause), cause: 'time' }
      const cause = await waitFor(pause, step, place, run)
      patience.waited()
      if (cause === 'stopped') return interrupted(ports.stop)
      if (cause === 'retry_now') run.limits.clear(step)
    }
    const turn = await inSlot(step, run, async () => {
      const next = await runIteration(step, place, patience, run)
      // Before another agent gets the slot.
      if (next !== undefined) return run.limits.join(step, next)
      run.limits.note(step, stepAt(ports.state(), step).lastOutcome)
      return undefined
    })
    if (turn.kind === 'end') return turn.end
    const mustWait = turn.kind === 'wait' || turn.kind === 'again'
    if (turn.kind === 'wait' && !stepAt(ports.state(), step).awaitsTask)
      ports.emit({ type: 'awaiting_task', ...place })
    if (mustWait) {
      await run.queues.leave(keyOf(step))
      await run.builders?.wait(ports.stop, waits)
    }
    waits = mustWait ? waits + 1 : 0
    pause = turn.kind === 'done' ? turn.pause : undefined
  }
}

type Turn =
  | { readonly kind: 'done'; readonly pause: Pause | undefined }
  | { readonly kind: 'end'; readonly end: End }
  /** The agent did not start, because it has to wait for other branches. */
  | { readonly kind: 'wait' | 'again' }

/** Waits until the agent may start, or the run is stopped. */
async function inSlot(
  step: StepNode,
  run: OpenRun,
  iterate: () => Promise<Pause | undefined>,
): Promise<Turn> {
  const { ports, slots, builders, branch, progress, queues } = run
  builders?.resume(step)
  // An agent that holds a slot must not wait for this one, which may need that slot.
  if (slots.areTaken) await queues.leave(keyOf(step))
  const leave = await slots.take(ports.stop)
  if (leave === undefined) return { kind: 'done', pause: undefined }
  queues.attend(keyOf(step))
  try {
    // While it waited for the slot, another agent may have hit a limit, or spent the budget.
    const isLimited = run.limits.limitOf(step) !== undefined
    const isSpent = run.spending.spentBudget(step) !== undefined
    if (isStopping(ports) || isLimited || isSpent) return { kind: 'done', pause: undefined }
    // Its sub-agents may be working in the same folder.
    const mayMove = branch !== undefined && !(await queues.hasTasks(step))
    if (mayMove && (await branch.bringUpToDate())) progress.forget()
    if (builders === undefined) return { kind: 'done', pause: await iterate() }
    const next = await builders.next(step, ports, hasOwnWork(step, run))
    if (next === 'wait' || next === 'again') return { kind: next }
    const end = next === 'go' ? undefined : await confirm(step, next, run)
    if (end !== undefined) return { kind: 'end', end }
    builders.resume(step)
    return { kind: 'done', pause: await builders.work(step, iterate) }
  } finally {
    leave()
  }
}

/** The pause, or the end, caused by a usage limit that another agent of the run has hit. */
function sharedPause(step: StepNode, patience: Patience, { limits }: OpenRun) {
  const limit = limits.limitOf(step)
  const next = limit && patience.after({ kind: 'rate_limited', ...limit })
  return next === undefined || 'reason' in next ? next : limits.join(step, next)
}
