import { outcomeWords } from '../events/outcome-words.ts'
import type { End, Outcome, Refusal } from '../events/schema.ts'
import { isFailure } from '../events/step-state.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Turned } from './follow-agent.ts'
import { runCommand } from './command.ts'
import type { Context } from './context.ts'
import { askGates } from './gates.ts'
import type { Patience, Pause } from './patience.ts'
import { stopReasonOf } from './ports.ts'
import type { TaskVerdict } from '../plan/task-verdict.ts'
import { taskEnd } from './task-check.ts'

/** What an iteration means. */
export interface Judgement {
  readonly outcome: Outcome
  /** Why its marker was not believed. */
  readonly refusal?: Refusal | undefined
  /** What the checks said, where they were asked: part of what progress is recognised by. */
  readonly gate?: { readonly isOpen: boolean; readonly detail: string } | undefined
  readonly feedback?: string | undefined
  /** Where the step ends with it. */
  readonly ends?: End | undefined
  /** Where it does not count and is repeated. */
  readonly isAgain?: boolean
  readonly pause?: Pause
}

/** What is judged: an iteration of a step. */
interface Case {
  readonly step: StepNode
  readonly iteration: number
  readonly patience: Patience
  readonly context: Context
}

/** Asks the gates where the agent says that it is done, and says what its outcome means. */
export async function judge(turned: Turned, of: Case): Promise<Judgement> {
  const { outcome, refusal } = turned
  const isOnce = of.step.loop === undefined
  const isDone =
    outcome.kind === 'marker' || (isOnce && outcome.kind === 'exited' && !isFailure(outcome))
  if (!isDone) return decide({ outcome, refusal }, of)
  const passed = await passGates({ outcome, refusal }, of)
  if (passed.isAgain === true) return passed
  if (passed.ends !== undefined) return { ...passed, outcome: turned.unmarked }
  if (passed.gate?.isOpen === true) {
    const left = taskEnd(of.step, of.context.ports)
    if (left?.reason === 'blocked') return { ...passed, ends: endBy(left) }
    const detail = left?.isHeld === true ? { detail: left.detail } : {}
    return { ...passed, ends: { reason: isOnce ? 'single_run' : 'marker', ...detail } }
  }
  const refused = { ...passed, outcome: turned.unmarked }
  if (!isOnce) return decide(refused, of)
  return { ...refused, refusal, ends: { reason: 'gate_failed', detail: passed.gate?.detail } }
}

/** What the checks make of it; where they cannot be asked, the step ends. */
async function passGates(seen: Judgement, of: Case): Promise<Judgement> {
  const answer = await askGates(of.step, of.iteration, of.context)
  switch (answer.kind) {
    case 'open':
      return { ...seen, gate: { isOpen: true, detail: '' } }
    case 'shut': {
      const { why: refusal, detail, feedback } = answer
      return { ...seen, gate: { isOpen: false, detail }, refusal, feedback }
    }
    case 'late':
      return { ...seen, ends: lateEnd(answer.detail) }
    case 'broken':
      return { ...seen, ends: { reason: 'error', detail: answer.detail } }
    case 'stopped':
      return breakOff(seen, of)
  }
}

/** Nobody knows what a check would have said that was cut short. */
function lateEnd(words: string): End {
  return { reason: 'budget', detail: `budget spent: ${words}` }
}

/** The run was stopped before it was clear what the iteration means: it comes again. */
function breakOff(seen: Judgement, { context }: Case): Judgement {
  const ends = interrupted(context.ports.stop)
  return { ...seen, outcome: { kind: 'interrupted' }, isAgain: true, ends }
}

/** What an outcome without an accepted marker means. */
async function decide(seen: Judgement, of: Case): Promise<Judgement> {
  const { outcome } = seen
  const next = of.patience.after(outcome)
  if (next !== undefined) {
    return { ...seen, isAgain: true, ...('reason' in next ? { ends: next } : { pause: next }) }
  }
  switch (outcome.kind) {
    case 'interrupted':
      return breakOff(seen, of)
    case 'spawn_failed':
      return { ...seen, isAgain: true, ends: { reason: 'error', detail: outcome.error } }
    case 'auth_failed':
      // Whoever has no right to ask will not get it by asking again.
      return { ...seen, isAgain: true, ends: { reason: 'auth', detail: outcome.error } }
    case 'blocked':
      return { ...seen, ends: { reason: 'blocked', detail: outcome.reason } }
    case 'budget': {
      // What an agent was given is the rest of a budget; people know the whole.
      const isOurs = of.step.agent.engine !== 'binary' && isMoney(outcome.error)
      const known = isOurs ? of.context.spending.spentMoney(of.step) : undefined
      return { ...seen, ends: known ?? { reason: 'budget', detail: outcomeWords(outcome) } }
    }
    default: {
      const early = (await askUntil(seen, of)) ?? (await finishTasks(seen, of))
      const isOver = early.ends !== undefined || of.step.loop !== undefined
      return isOver ? early : { ...early, ends: endOnce(outcome) }
    }
  }
}

function isMoney(words: string): boolean {
  return /\$|\bUSD\b/.test(words)
}

/** Whether the step is done although its agent did not say so; undefined: it is not. */
async function askUntil(seen: Judgement, of: Case): Promise<Judgement | undefined> {
  const { step, iteration, context } = of
  const { until } = step.policy
  if (until === undefined) return undefined
  const errand = { role: 'until' as const, command: until, step, iteration }
  const { result, detail } = await runCommand(errand, context)
  switch (result) {
    case 'ok':
      return { ...seen, ends: { reason: 'until', detail: until } }
    case 'stopped':
      return breakOff(seen, of)
    case 'late':
      return { ...seen, ends: lateEnd(`${until}: ${detail}`) }
    case 'broken': {
      const words = `until cannot be run: ${until}: ${detail}`
      return { ...seen, ends: { reason: 'error', detail: words } }
    }
    case 'failed':
      return undefined
  }
}

/** An agent that builds from tasks need not be started again after the last one, where the checks agree. */
async function finishTasks(seen: Judgement, of: Case): Promise<Judgement> {
  const { step, context } = of
  const verdict = isFailure(seen.outcome) ? undefined : taskEnd(step, context.ports)
  const ends = verdict && endBy(verdict)
  if (ends?.reason !== 'until' || step.policy.verify.length === 0) return { ...seen, ends }
  // They may have said no already.
  if (seen.gate !== undefined) return seen
  const passed = await passGates(seen, of)
  // There was no marker that a check could refuse.
  const judged = { ...passed, refusal: seen.refusal }
  return passed.gate?.isOpen === true ? { ...judged, ends } : judged
}

function endBy({ reason, detail }: TaskVerdict): End {
  return { reason, detail }
}

/** What the outcome of its only iteration means for a step. */
function endOnce(outcome: Outcome): End {
  const isLate = outcome.kind === 'timed_out' || outcome.kind === 'idle'
  return { reason: isLate ? 'timeout' : 'agent_failed', detail: outcomeWords(outcome) }
}

export function interrupted(stop: AbortSignal): End {
  const words = stop.aborted ? stopReasonOf(stop).words : STOP_ASKED
  return { reason: 'interrupted', detail: words }
}

/** In words: another process asked the run to end after its iteration. */
export const STOP_ASKED = 'stopped by forkhestra stop'
