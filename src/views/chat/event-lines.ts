import { formatMoney, describeQueued, formatTokens } from '../../base/amounts.ts'
import type { Paint } from '../../base/terminal/columns.ts'
import { formatDuration } from '../../base/durations.ts'
import { printable } from '../../base/terminal/printable.ts'
import type { EventOf } from '../../records/events/event.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { countTokens } from '../../records/events/spent.ts'
import { ofTask, describeTaskEnd, describeTaskStart } from '../describe-task.ts'
import { describeLimit, describeWait } from '../describe.ts'
import { diffLines } from './diff-lines.ts'
import { nextStep } from './next-step.ts'

/** What a chat shows besides the answers of the agent. */
export function eventLines(event: RunEvent, paint: Paint): string[] {
  switch (event.type) {
    case 'tool':
      if (isOfOthers(event)) return []
      return [`${paint.cyan(`[${event.name}]`)} ${printable(event.brief)}`.trimEnd()]
    case 'tool_ended':
      return isOfOthers(event) ? [] : toolEndLines(event, paint)
    case 'iteration_ended':
      return [...failureLines(event, paint), paint.dim(costLine(event))]
    case 'phase_ended':
      return phaseLines(event).map(paint.dim)
    case 'task_started':
      return [paint.dim(describeTaskStart(event))]
    case 'task_ended':
      return [taskEndLine(event, paint)]
    case 'limit':
      return event.status === 'allowed'
        ? []
        : [paint.yellow(ofTask(event.task, describeLimit(event)))]
    case 'waiting':
      return [paint.yellow(ofTask(event.task, describeWait(event, Date.parse(event.at))))]
    case 'warning':
      return [paint.yellow(`Warning: ${printable(event.text)}`)]
    case 'record_lost':
      return lostLines(event).map(paint.red)
    default:
      return []
  }
}

function lostLines({ why, run }: EventOf<'record_lost'>): string[] {
  return [
    `The chat is no longer saved: ${printable(why)}`,
    `Fix the problem (for example, free disk space), quit, and continue: forkhestra chat --resume ${run}`,
  ]
}

/** Start and end of sub-agents. */
function isOfOthers(event: EventOf<'tool' | 'tool_ended'>): boolean {
  return event.task !== undefined || ('parent' in event && event.parent !== undefined)
}

function toolEndLines({ error, diff }: EventOf<'tool_ended'>, paint: Paint): string[] {
  if (error !== undefined) return [paint.red(`  ${printable(error)}`)]
  return diff === undefined ? [] : diffLines(diff, paint)
}

function failureLines({ outcome, run }: EventOf<'iteration_ended'>, paint: Paint): string[] {
  if (outcome.kind === 'interrupted') return [paint.yellow('Stopped. The conversation is saved.')]
  const words = describeOutcome(outcome).replace(/^exit \d+: /, '')
  if (words === '' || words === 'exit 0') return []
  const next = nextStep(outcome, run)
  return [`The turn failed: ${words}`, ...(next === undefined ? [] : [next])].map(paint.red)
}

/** `3 s, 1.2k tokens, $0.0042`. */
function costLine({ ms, usage, outcome }: EventOf<'iteration_ended'>): string {
  // The usage of an answer follows at its end.
  const about = outcome.kind === 'interrupted' ? 'about ' : ''
  const tokens = usage?.tokens === undefined ? 0 : countTokens({ tokens: usage.tokens })
  return [
    formatDuration(ms),
    ...(tokens === 0 ? [] : [`${about}${formatTokens(tokens)} tokens`]),
    ...(usage?.costUsd === undefined ? [] : [formatMoney(usage.costUsd)]),
  ].join(', ')
}

function phaseLines({ pushed, started, held }: EventOf<'phase_ended'>): string[] {
  return [
    ...(pushed.length === 0 ? [] : [`Queued: ${pushed.join(', ')}`]),
    ...(started.length === 0 ? [] : [`Started: ${started.join(', ')}`]),
    ...(held === 0 ? [] : [`${describeQueued(held)}: the limit of running tasks is reached`]),
  ]
}

function taskEndLine(event: EventOf<'task_ended'>, paint: Paint): string {
  const words = describeTaskEnd(event)
  const isForUs = event.parent === undefined || event.parent === 'main'
  const where = isForUs && event.again !== true ? '; its result is in the inbox: /check' : ''
  return event.success ? paint.green(words + where) : paint.red(words + where)
}
