import { basename } from 'node:path'
import { localTime } from '../base/local-time.ts'
import { dropUndefined } from '../base/objects.ts'
import { oneLine, shorten } from '../base/shorten.ts'
import { printable } from '../base/terminal/printable.ts'
import { describeBudget } from '../chain/plan/policy-lines.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { describeOutcome } from '../records/events/describe-outcome.ts'
import type { EventOf } from '../records/events/event.ts'
import type { Notice, RunEvent } from '../records/events/schema.ts'
import { stepOf, type RunState } from '../records/events/state.ts'
import { isComplete, type StepState } from '../records/events/step-state.ts'
import { formatSpent } from './amounts.ts'
import { copyNumber } from './copies.ts'
import { cwdOption, describeReason, describeResumeOptions } from './describe.ts'
import { currentStep, resumeCommand } from './runs.ts'

const LONGEST_REASON = 500

/** What the reader can do, and in which words. */
interface Next {
  readonly words: string
  readonly command: string
}

/** The event for somebody who does not see the run; `state` is the state after it. */
export function describeNotice(
  event: RunEvent,
  state: RunState,
  plan: Pick<Plan, 'run' | 'cwd' | 'chain' | 'budget'>,
  kind?: Notice['kind'],
): Notice {
  const { cwd, chain, run } = plan
  const { spent } = state
  const step = stepFor(event, state)
  const why = kind === 'budget' ? 'over half of the budget is spent' : reasonOf(event, state, step)
  const reason = why && shorten(oneLine(printable(why)), LONGEST_REASON)
  const next = nextAfter(event, state, step, plan)
  const budget = describeBudget(plan.budget)
  const lines = [
    `Project: ${cwd}`,
    `Run: ${run}${chain === undefined ? '' : ` (chain ${chain})`}`,
    ...(step === undefined ? [] : [`Step: ${describePlace(step)}`]),
    ...(reason ? [`Reason: ${reason}`] : []),
    `Spent: ${formatSpent(spent)}${budget === '' ? '' : ` (budget: ${budget})`}`,
    ...(next === undefined ? [] : [`${next.words}: ${next.command}`]),
  ]
  return {
    ...dropUndefined({ kind }),
    title: printable(`${basename(cwd) || cwd}: ${headline(event, state, step, kind)}`),
    text: lines.map(printable).join('\n'),
    project: cwd,
    ...dropUndefined({ chain, step: step && stepFields(step), reason: reason || undefined }),
    ...dropUndefined({ next: next?.command }),
    spent,
  }
}

function isDone({ reason, passed }: EventOf<'step_ended'>): boolean {
  return isComplete(reason) || passed === true
}

/** For the end of a run, the step that failed. */
function stepFor(event: RunEvent, state: RunState): StepState | undefined {
  if (event.type === 'run_ended') return event.ok ? undefined : currentStep(state)
  return 'scope' in event && 'step' in event && event.step !== undefined
    ? stepOf(state, { scope: event.scope, step: event.step })
    : undefined
}

function stepFields({ number, agent, name }: StepState): NonNullable<Notice['step']> {
  return { number, agent, ...dropUndefined({ name }) }
}

/** `2 (builder#3), iteration 5/20`. */
function describePlace(step: StepState): string {
  const { iterations, maxIterations } = step
  const count =
    maxIterations === undefined || iterations === 0
      ? ''
      : `, iteration ${iterations}/${maxIterations}`
  return `${describeStep(step)}${count}`
}

function describeStep(step: StepState): string {
  return `${step.number} (${step.name ?? step.agent}${copyNumber(step)})`
}

function headline(
  event: RunEvent,
  state: RunState,
  step: StepState | undefined,
  kind: Notice['kind'],
): string {
  const at = step === undefined ? '' : ` at step ${describeStep(step)}`
  if (kind === 'budget') return 'over half of the budget is spent'
  if (kind === 'blocked') return `blocked${at}`
  switch (event.type) {
    case 'run_ended':
      if (event.ok) return 'run complete'
      return `run ${event.stopped === undefined ? 'failed' : state.ended?.stopped}${at}`
    case 'waiting':
      return `waiting until ${localTime(event.until)}${at}`
    case 'step_ended': {
      return `step ${isDone(event) ? 'complete' : 'failed'}${at}`
    }
    case 'step_started':
      return `step started${at}`
    default:
      return `iteration ended${at}`
  }
}

function reasonOf(
  event: RunEvent,
  state: RunState,
  step: StepState | undefined,
): string | undefined {
  switch (event.type) {
    case 'waiting':
      return event.error
    case 'iteration_ended':
      return describeOutcome(event.outcome) || event.outcome.kind
    case 'step_ended':
      return event.detail ?? event.reason
    case 'run_ended':
      if (step?.reason === undefined || step.reason === 'skipped') return state.ended?.stopped
      return describeReason(step)
    default:
      return undefined
  }
}

function nextAfter(
  event: RunEvent,
  state: RunState,
  step: StepState | undefined,
  { run, cwd }: Pick<Plan, 'run' | 'cwd'>,
): Next | undefined {
  const place = `${run}${cwdOption(cwd, '')}`
  if (state.record === undefined) return undefined
  if (event.type === 'waiting')
    return {
      words: 'The run continues then; to retry now',
      command: `forkhestra retry-now ${place}`,
    }
  const isOver = event.type === 'run_ended'
  const hasFailed = isOver ? !event.ok : event.type === 'step_ended' && !isDone(event)
  const needs = hasFailed ? describeResumeOptions(state, step) : undefined
  if (needs === undefined) return undefined
  const words = `To resume${isOver ? '' : ' when the run has ended'}${needs.why}`
  return { words, command: `${resumeCommand(place)}${needs.options}` }
}
