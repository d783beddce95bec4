import { moneyWords, stayWords, tokenWords } from '../base/amounts.ts'
import type { Paint } from '../base/columns.ts'
import { durationWords } from '../base/durations.ts'
import { printable } from '../base/printable.ts'
import type { EventOf } from '../events/event.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import type { RunEvent } from '../events/schema.ts'
import { countTokens } from '../events/spent.ts'
import { ofTask, taskEndedWords, taskStartedWords } from '../views/task-words.ts'
import { limitWords, waitWords } from '../views/words.ts'
import { diffLines } from './diff-lines.ts'
import { nextStep } from './next-step.ts'

/** What a person who talks to an agent is told beside its answers; most of it in one line. */
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
      return [paint.dim(taskStartedWords(event))]
    case 'task_ended':
      return [taskEndLine(event, paint)]
    case 'limit':
      return event.status === 'allowed' ? [] : [paint.yellow(ofTask(event.task, limitWords(event)))]
    case 'waiting':
      return [paint.yellow(ofTask(event.task, waitWords(event, Date.parse(event.at))))]
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
    `Nothing is kept any more: ${printable(why)}`,
    `Mend that, e.g. free some space, leave, and go on: forkhestra chat --resume ${run}`,
  ]
}

/** Sub-agents are told of when they begin and when they end. */
function isOfOthers(event: EventOf<'tool' | 'tool_ended'>): boolean {
  return event.task !== undefined || ('parent' in event && event.parent !== undefined)
}

function toolEndLines({ error, diff }: EventOf<'tool_ended'>, paint: Paint): string[] {
  if (error !== undefined) return [paint.red(`  ${printable(error)}`)]
  return diff === undefined ? [] : diffLines(diff, paint)
}

function failureLines({ outcome, run }: EventOf<'iteration_ended'>, paint: Paint): string[] {
  if (outcome.kind === 'interrupted') return [paint.yellow('Stopped. What was said is kept.')]
  const words = outcomeWords(outcome).replace(/^exit \d+: /, '')
  if (words === '' || words === 'exit 0') return []
  const next = nextStep(outcome, run)
  return [`The turn failed: ${words}`, ...(next === undefined ? [] : [next])].map(paint.red)
}

/** `3 s, 1.2k tokens, $0.0042`. */
function costLine({ ms, usage, outcome }: EventOf<'iteration_ended'>): string {
  // What an answer takes is told at its end.
  const about = outcome.kind === 'interrupted' ? 'about ' : ''
  const tokens = usage?.tokens === undefined ? 0 : countTokens({ tokens: usage.tokens })
  return [
    durationWords(ms),
    ...(tokens === 0 ? [] : [`${about}${tokenWords(tokens)} tokens`]),
    ...(usage?.costUsd === undefined ? [] : [moneyWords(usage.costUsd)]),
  ].join(', ')
}

function phaseLines({ pushed, started, held }: EventOf<'phase_ended'>): string[] {
  return [
    ...(pushed.length === 0 ? [] : [`Queued: ${pushed.join(', ')}`]),
    ...(started.length === 0 ? [] : [`Started: ${started.join(', ')}`]),
    ...(held === 0 ? [] : [`${stayWords(held)}: no more may run at once`]),
  ]
}

function taskEndLine(event: EventOf<'task_ended'>, paint: Paint): string {
  const words = taskEndedWords(event)
  const isForUs = event.parent === undefined || event.parent === 'main'
  const where = isForUs && event.again !== true ? '; its result is in the inbox: /check' : ''
  return event.success ? paint.green(words + where) : paint.red(words + where)
}
