import { formatMoney, describeQueued, formatTokens } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { localTime } from '../../base/local-time.ts'
import { safe, type Paint } from '../terminal/columns.ts'
import { printable } from '../../base/terminal/printable.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import type { EventOf } from '../../records/events/event.ts'
import type { Outcome, RunEvent } from '../../records/events/schema.ts'
import { countTokens } from '../../records/events/spent.ts'
import { describeLimit, describeWait } from '../describe.ts'
import { prefixTask, describeTaskEnd, describeTaskStart } from '../describe-task.ts'

/** What a chat shows besides the agent's answers. */
export function eventLines(event: RunEvent, paint: Paint): string[] {
  switch (event.type) {
    case 'tool':
      if (isOfSubAgent(event)) return []
      return [`${paint.cyan(`[${printable(event.name)}]`)} ${printable(event.brief)}`.trimEnd()]
    case 'tool_ended':
      return isOfSubAgent(event) ? [] : toolEndLines(event, paint)
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
        : [paint.yellow(prefixTask(event.task, describeLimit(event)))]
    case 'waiting':
      return [paint.yellow(prefixTask(event.task, describeWait(event, Date.parse(event.at))))]
    case 'warning':
      return [paint.yellow(`Warning: ${printable(event.text)}`)]
    case 'record_lost':
      return [
        `The chat is no longer saved: ${printable(event.why)}`,
        `Fix the problem (for example, free disk space), quit, and continue: forkhestra chat --resume ${event.run}`,
      ].map(paint.red)
    default:
      return []
  }
}

function isOfSubAgent(event: EventOf<'tool' | 'tool_ended'>): boolean {
  return event.task !== undefined || ('parent' in event && event.parent !== undefined)
}

function toolEndLines({ error, diff }: EventOf<'tool_ended'>, paint: Paint): string[] {
  if (error !== undefined) return [paint.red(`  ${printable(error)}`)]
  return diff === undefined ? [] : diffLines(diff, paint)
}

const DIFF_LINES = 12
/** The header of a hunk in a unified diff, with the number of its first line. */
const HUNK = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** The removed and added lines with their numbers. */
function diffLines(diff: string, paint: Paint): string[] {
  const lines: string[] = []
  let number = 0
  for (const line of diff.split('\n')) {
    const hunk = HUNK.exec(line)
    if (hunk !== null) number = Number(hunk[1])
    else if (number === 0 || line.startsWith('\\')) continue
    else if (line.startsWith('+')) lines.push(paint.green(`  ${number++} + ${safe(line.slice(1))}`))
    else if (line.startsWith('-')) lines.push(paint.red(`  ${number} - ${safe(line.slice(1))}`))
    else number += 1
  }
  const more = lines.length - DIFF_LINES
  // A note about one hidden line would be as long as the line.
  if (more <= 1) return lines
  return [...lines.slice(0, DIFF_LINES), paint.dim(`  … ${more} more lines`)]
}

function failureLines({ outcome, run }: EventOf<'iteration_ended'>, paint: Paint): string[] {
  if (outcome.kind === 'interrupted') return [paint.yellow('Stopped. The conversation is saved.')]
  const words = describeOutcome(outcome).replace(/^exit \d+: /, '')
  if (words === '' || words === 'exit 0') return []
  return [`The turn failed: ${words}`, ...adviceFor(outcome, run)].map(paint.red)
}

/** What to do after a failed turn, unless the reason says so. */
function adviceFor(outcome: Outcome, run: string): string[] {
  const resume = `forkhestra chat --resume ${run}`
  switch (outcome.kind) {
    case 'exited':
      if (outcome.cause !== 'context_full') return []
      return ['This conversation is too long to continue; start a new one with forkhestra chat']
    case 'auth_failed':
      return outcome.cause === 'unknown_model'
        ? [`Choose an existing model: ${resume} --model provider/id`]
        : [`See which key is used: forkhestra doctor. Set the right one and continue: ${resume}`]
    case 'rate_limited': {
      const { resetsAt } = outcome
      const when = resetsAt === undefined ? 'later' : `after ${localTime(resetsAt * 1000)}`
      return [`Try again ${when}, also with ${resume}`]
    }
    case 'overloaded':
      return [`Try again later, also with ${resume}`]
    default:
      return []
  }
}

/** `3 s, 1.2k tokens, $0.0042`. */
function costLine({ ms, usage, outcome }: EventOf<'iteration_ended'>): string {
  // An interrupted answer does not report its usage.
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
  const isForUs = event.parent === undefined || event.parent === 'main'
  const where = isForUs && event.again !== true ? '; its result is in the inbox: /check' : ''
  return (event.success ? paint.green : paint.red)(describeTaskEnd(event) + where)
}
