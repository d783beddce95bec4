import { withoutSkips } from '../../base/awake.ts'
import { localTime } from '../../base/local-time.ts'
import type { End } from '../../records/events/schema.ts'
import { stepAt } from '../../records/events/state.ts'
import { isComplete, type StepState } from '../../records/events/step-state.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { nothingToBuild } from '../../chain/plan/task-verdict.ts'
import { spentBudget } from './budget.ts'
import { runCommand } from '../process/command.ts'
import type { Context } from './context.ts'
import { askGates } from './gates.ts'
import { runHooks } from './hooks.ts'
import { interrupted } from './judge.ts'
import { Patience, type Pause } from './patience.ts'
import { iterationPlace, placeOf } from './place.ts'
import { runIteration } from './run-iteration.ts'
import { countTasks, newlyOpen } from './task-check.ts'
import type { Ports } from './ports.ts'
import { waitFor } from './waiting.ts'

/** `passed` is set if the step was skipped by its `when`. */
type StepEnd = End & { readonly passed?: true }

/** Runs one agent, once or in a loop, and continues a step that an earlier process began. */
export async function runStep(step: StepNode, context: Context): Promise<void> {
  const { ports } = context
  const known = () => stepAt(ports.state(), step.number)
  const end = (await begin(step, context)) ?? (await work(step, context))
  const overspent = isComplete(end.reason) ? context.spending.overspent(step) : undefined
  if (overspent !== undefined) ports.emit({ type: 'warning', text: overspent })
  const hasRun = known().iterations > 0
  const isDone = hasRun && isComplete(end.reason)
  const nothing = isDone ? await nothingToBuild(step, () => countTasks(step, ports)) : undefined
  if (nothing?.isEmpty === true) {
    const text = `step ${step.number} (${step.agent.name}) built nothing: there are no tasks`
    ports.emit({ type: 'warning', text })
  }
  const deleted = await deletedTasks(step, ports)
  const { rounds, failures, iterations, spent } = known()
  const event = ports.emit({
    type: 'step_ended',
    ...placeOf(step, rounds),
    agent: step.agent.name,
    ...end,
    ...deleted,
    iterations,
    failures,
    spent,
  })
  if (!ports.stop.aborted) await runHooks('afterStep', event, step, context)
}

async function deletedTasks(
  step: StepNode,
  ports: Ports,
): Promise<{ readonly deletedTasks?: string[] }> {
  if (step.agent.finishesTasks !== true) return {}
  const { deleted } = await countTasks(step, ports)
  return deleted.length === 0 ? {} : { deletedTasks: [...deleted] }
}

/** Checks `when` and runs the hook before the step; undefined if the agent may start. */
async function begin(step: StepNode, context: Context): Promise<StepEnd | undefined> {
  const { ports } = context
  const { isOpen, rounds, iterations } = stepAt(ports.state(), step.number)
  if (isOpen && iterations > 0) return undefined
  const max = step.loop === undefined ? {} : { maxIterations: step.loop }
  const event = ports.emit({
    type: 'step_started',
    ...placeOf(step, isOpen ? rounds : rounds + 1),
    agent: step.agent.name,
    ...max,
    ...(await newlyOpen(step, ports)),
  })
  const { when } = step.policy
  if (when !== undefined) {
    const { result, detail } = await runCommand({ role: 'when', command: when, step }, context)
    if (result === 'stopped') return interrupted(ports.stop)
    if (result === 'failed') return { reason: 'skipped', detail: `when: ${when}`, passed: true }
    if (result === 'broken')
      return { reason: 'error', detail: `when cannot be run: ${when}: ${detail}` }
  }
  const problem = await runHooks('beforeStep', event, step, context)
  return problem === undefined ? undefined : { reason: 'error', detail: problem }
}

/**
 * The end of a step whose agent builds from tasks and has nothing to do. It applies to the first step
 * and to a resumed one; if there are no tasks at all, also to later steps, unless a jump led back.
 */
async function withoutWork(step: StepNode, context: Context): Promise<End | undefined> {
  const { ports } = context
  const state = ports.state()
  const end = await nothingToBuild(step, () => countTasks(step, ports))
  const { iterations, rounds, ends } = stepAt(state, step.number)
  const isFirst = state.steps.every(
    ({ number, rounds: begun }) => number === step.number || begun === 0,
  )
  const isEmpty = end?.isEmpty === true
  if (end === undefined || ends !== undefined) return undefined
  if (!isFirst && iterations === 0 && (!isEmpty || rounds > 1)) return undefined
  const { reason, detail } = end
  if (reason === 'blocked' && (isFirst || !isEmpty)) return { reason, detail }
  // A failing gate means that there is work for the agent.
  const answer = await askGates(step, undefined, context)
  if (answer.kind === 'broken') return { reason: 'error', detail: answer.detail }
  return answer.kind === 'open' ? { reason: 'until', detail } : undefined
}

async function work(step: StepNode, context: Context): Promise<End> {
  const idle = await withoutWork(step, context)
  const end = idle ?? (await loop(step, context))
  if (idle === undefined || stepAt(context.ports.state(), step.number).iterations > 0)
    await context.queues.endStep(step, end)
  return end
}

async function loop(step: StepNode, context: Context): Promise<End> {
  const { ports, spending } = context
  const patience = new Patience(step.policy)
  let pause: Pause | undefined
  for (;;) {
    const state = ports.state()
    const known = stepAt(state, step.number)
    if (known.ends !== undefined) return known.ends
    if (ports.stop.aborted || ports.control.isStopRequested) return interrupted(ports.stop)
    const broke = spending.spentBudget(step)
    if (broke !== undefined) return broke
    const place = nextPlace(step, known, context)
    // An earlier process may have ended during a wait.
    pause ??= known.isAgain ? resumePause(known, patience) : undefined
    if (pause !== undefined) {
      const late = tooLong(pause, step, context)
      if (late !== undefined) return late
      const cause = await waitFor(pause, step, place, context)
      patience.waited()
      if (cause === 'stopped') return interrupted(ports.stop)
    }
    pause = await runIteration(step, place, patience, context)
  }
}

/** An iteration that did not count, or did not end, is repeated under its number. */
function nextPlace(step: StepNode, known: StepState, { ports }: Context) {
  const isAgain = known.isAgain || known.running !== undefined
  const iteration = isAgain ? known.iterations : known.iterations + 1
  return iterationPlace(step, ports.state(), iteration, isAgain ? known.attempt + 1 : 1)
}

function resumePause({ lastOutcome }: StepState, patience: Patience): Pause | undefined {
  if (lastOutcome?.kind !== 'rate_limited') return undefined
  const isOver = (lastOutcome.resetsAt ?? 0) * 1000 <= Date.now()
  const next = isOver ? undefined : patience.after(lastOutcome)
  return next === undefined || 'reason' in next ? undefined : next
}

/** The end of the step if a wait would exceed the time that its budget leaves. */
function tooLong({ until }: Pause, step: StepNode, { plan, ports }: Context): End | undefined {
  if (spentBudget(step, plan, ports.state(), withoutSkips(until)) === undefined) return undefined
  const when = localTime(until)
  return { reason: 'budget', detail: `a wait until ${when} would exceed the remaining time budget` }
}
