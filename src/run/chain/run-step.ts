import { withoutSkips } from '../../base/awake.ts'
import type { EventBody } from '../../records/events/event.ts'
import type { End, RunEvent } from '../../records/events/schema.ts'
import { stepAt } from '../../records/events/state.ts'
import { isComplete, type StepState } from '../../records/events/step-state.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { nothingToBuild } from '../../chain/plan/task-verdict.ts'
import { runCommand } from '../policy/command.ts'
import { askGates, endWithout } from '../policy/gates.ts'
import { runHooks } from '../policy/hooks.ts'
import type { OpenRun } from './open-run.ts'
import { Patience, waitTooLong, type Pause } from '../policy/patience.ts'
import { currentPlace, iterationPlace, nextIteration, placeOf } from '../place.ts'
import { interrupted, type Ports } from '../ports.ts'
import { runIteration } from './run-iteration.ts'
import { countTasks, newlyOpen } from '../policy/task-check.ts'
import { waitFor } from '../policy/waiting.ts'

type StepEnded = EventBody & { type: 'step_ended' }

/** How a step ends; `passed` is set if it was skipped by its `when`. */
type StepEnd = End &
  Partial<Pick<StepEnded, 'passed' | 'deletedTasks' | 'blockedTasks' | 'failures'>>

/** Runs one agent, once or in a loop, and continues a step that an earlier process began. */
export async function runStep(step: StepNode, run: OpenRun): Promise<void> {
  const { ports, spending } = run
  const warn = (text: string) => ports.emit({ type: 'warning', text })
  const end = (await begin(step, run)) ?? (await work(step, run))
  if (isComplete(end.reason)) {
    const overspent = spending.overspent(step)
    if (overspent !== undefined) warn(overspent)
    const hasRun = stepAt(ports.state(), step.number).iterations > 0
    const nothing = hasRun ? await nothingToBuild(step, () => countTasks(step, ports)) : undefined
    if (nothing?.isEmpty === true)
      warn(`step ${step.number} (${step.agent.name}) built nothing: there are no tasks`)
  }
  const event = endStep(step, { ...end, ...(await affectedTasks(step, end, ports)) }, ports)
  if (!ports.stop.aborted) await runHooks('afterStep', event, step, run)
}

/** For the end of a step that builds from tasks: those that a person should look at. */
async function affectedTasks(step: StepNode, { reason }: End, ports: Ports) {
  if (step.agent.finishesTasks !== true) return {}
  const { deleted, blockedTasks: blocked } = await countTasks(step, ports)
  // An agent that is blocked itself has said why.
  const isByTasks =
    reason === 'blocked' && stepAt(ports.state(), step.number).lastOutcome?.kind !== 'blocked'
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
  const { isOpen, iterations, failures, spent } = stepAt(state(), step.number)
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
  const { isOpen, rounds, iterations } = stepAt(ports.state(), step.number)
  if (isOpen && iterations > 0) return undefined
  const event = ports.emit({
    type: 'step_started',
    ...placeOf(step, isOpen ? rounds : rounds + 1),
    agent: step.agent.name,
    ...(step.loop === undefined ? {} : { maxIterations: step.loop }),
    ...(await newlyOpen(step, ports)),
  })
  const { when } = step.policy
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
  const end = idle ?? (await loop(step, run))
  if (idle === undefined || stepAt(run.ports.state(), step.number).iterations > 0)
    await run.queues.endStep(step, end)
  return end
}

/**
 * The end of a step whose agent builds from tasks and has nothing to do. It applies to the first step
 * and to a resumed one; if there are no tasks at all, also to later steps, unless a jump led back.
 */
async function withoutWork(step: StepNode, run: OpenRun): Promise<End | undefined> {
  const { ports } = run
  const state = ports.state()
  const end = await nothingToBuild(step, () => countTasks(step, ports))
  const { iterations, rounds, ends } = stepAt(state, step.number)
  if (end === undefined || ends !== undefined) return undefined
  const isFirst = state.steps.every(
    ({ number, rounds: begun }) => number === step.number || begun === 0,
  )
  const { reason, detail, isEmpty = false } = end
  if (!isFirst && iterations === 0 && (!isEmpty || rounds > 1)) return undefined
  if (reason === 'blocked' && (isFirst || !isEmpty)) return { reason, detail }
  // A failing gate means that there is work for the agent.
  const { gate, ends: broken } = await askGates(step, undefined, run)
  if (broken?.reason === 'error') return broken
  return gate?.isOpen === true ? { reason: 'until', detail } : undefined
}

async function loop(step: StepNode, run: OpenRun): Promise<End> {
  const { ports, spending } = run
  const patience = new Patience(step.policy)
  let pause: Pause | undefined
  for (;;) {
    const known = stepAt(ports.state(), step.number)
    if (known.ends !== undefined) return known.ends
    if (ports.stop.aborted || ports.control.isStopRequested) return interrupted(ports.stop)
    const broke = spending.spentBudget(step)
    if (broke !== undefined) return broke
    const place = iterationPlace(step, ports.state(), nextIteration(known))
    // An earlier process may have ended during a wait.
    pause ??= known.isAgain ? resumePause(known, patience) : undefined
    if (pause !== undefined) {
      if (spending.spentBudget(step, withoutSkips(pause.until)) !== undefined)
        return { reason: 'budget', detail: waitTooLong(pause) }
      const cause = await waitFor(pause, step, place, run)
      patience.waited()
      if (cause === 'stopped') return interrupted(ports.stop)
    }
    pause = await runIteration(step, place, patience, run)
  }
}

function resumePause({ lastOutcome }: StepState, patience: Patience): Pause | undefined {
  if (lastOutcome?.kind !== 'rate_limited') return undefined
  const isOver = (lastOutcome.resetsAt ?? 0) * 1000 <= Date.now()
  const next = isOver ? undefined : patience.after(lastOutcome)
  return next === undefined || 'reason' in next ? undefined : next
}
