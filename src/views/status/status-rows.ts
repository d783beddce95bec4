import { basename } from 'node:path'
import { formatTokens, formatMoney } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { localTime } from '../../base/local-time.ts'
import { printable } from '../../base/terminal/printable.ts'
import { branchName } from '../../records/events/branch-name.ts'
import type { EventOf } from '../../records/events/event.ts'
import { countTokens } from '../../records/events/spent.ts'
import type { RunState } from '../../records/events/state.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { waitsOf } from '../../records/events/waits.ts'
import { cut } from '../terminal/columns.ts'
import type { Size } from '../terminal/tty.ts'
import type { Activities, Doing } from './activity.ts'

/** What a run may spend at most. */
export interface SpendingLimits {
  readonly costUsd?: number | undefined
  readonly tokens?: number | undefined
  readonly ms?: number | undefined
}

/** A shorter silence is nothing special. */
const SILENT_MS = 10_000
const SEPARATOR = ' · '

/** A part of a row, and what is left of it in a narrower one. */
type Part = readonly string[]

/** One row for everything that runs right now, and what the run has spent. */
export function statusRows(
  state: RunState,
  activities: Activities,
  limits: SpendingLimits,
  now: number,
  { width, height }: Size,
): string[] {
  const steps = state.steps.filter((step) => step.isOpen)
  const spent = describeSpent(state, limits)
  if (steps.length <= 1) {
    const parts = steps.flatMap((step) => describeStep(step, state, activities, now))
    return parts.length === 0 ? [] : [fitParts([...parts, spent], width)]
  }
  const room = Math.max(2, Math.floor(height / 3) - 1)
  const shown = steps.length > room ? steps.slice(0, room - 1) : steps
  const more = steps.length - shown.length
  return [
    ...shown.map((step) => fitParts(describeStep(step, state, activities, now), width)),
    fitParts(
      [...(more > 0 ? [[`… and ${more} more`]] : []), [`${steps.length} running`], spent],
      width,
    ),
  ]
}

/** `builder 3/20 - shop`, for the title of the window. */
export function statusTitle(state: RunState): string {
  const open = state.steps.filter((step) => step.isOpen)
  const what = open.length === 1 ? nameStep(open[0]!, state) : `${open.length} running`
  return [what, ...(state.cwd === undefined ? [] : [basename(state.cwd)])].join(' - ')
}

/** `builder 3/20`. */
function nameStep({ key, maxIterations, iterations, name, agent }: StepState, state: RunState) {
  const who = branchName(state, key.split('/')) ?? name ?? agent
  return printable(
    maxIterations === undefined ? who : `${who} ${Math.max(1, iterations)}/${maxIterations}`,
  )
}

function describeStep(
  step: StepState,
  state: RunState,
  activities: Activities,
  now: number,
): Part[] {
  const { key } = step
  const { began, task, doing, subAgents } = activities.of(key)
  const wait = waitsOf(state).find(({ scope }) => keyOfScope(scope) === key)
  const what = wait === undefined ? describeDoing(doing, now) : describeWait(wait, now)
  return [
    [nameStep(step, state)],
    ...(task === undefined ? [] : [[printable(`${task.id} ${task.title ?? ''}`).trim(), task.id]]),
    ...(began === undefined ? [] : [[clock(now - began)]]),
    ...(what.length === 0 ? [] : [what]),
    ...(subAgents === 0 ? [] : [[`${subAgents} sub-agents`, '']]),
  ]
}

export function describeDoing(doing: Doing | undefined, now: number): Part {
  if (doing === undefined) return []
  const time = stopwatch(now - doing.since)
  switch (doing.kind) {
    case 'tool':
      return [printable(`${doing.name} ${doing.brief} ${time}`), printable(`${doing.name} ${time}`)]
    case 'command': {
      const role = doing.role === 'verify' ? 'gate' : doing.role
      return [printable(`${role}: ${doing.command} ${time}`), `${role} ${time}`]
    }
    case 'merge':
      return [`merging ${time}`]
    case 'awaiting_task':
      return [`waiting for a task ${time}`]
    case 'thinking':
      return ['thinking']
    case 'silent':
      return now - doing.since < SILENT_MS ? [] : [`silent ${time}`]
  }
}

/** `waiting 1 h 53 min for the limit, until 23:00`. */
export function describeWait({ why, until }: EventOf<'waiting'>, now: number): Part {
  const left = formatDuration(Math.max(0, Date.parse(until) - now))
  const [, clockTime] = localTime(until).split(' ')
  return why === 'quota'
    ? [`waiting ${left} for the limit, until ${clockTime}`]
    : [`waiting ${left} before the next attempt`]
}

/** `41.0k tok $1.20/$20.00`; of the tokens, only a budget stays in a narrow row. */
export function describeSpent({ spent }: RunState, { costUsd, tokens, ms }: SpendingLimits): Part {
  const count = countTokens(spent)
  const of = (limit: number | undefined, format: (value: number) => string) =>
    limit === undefined ? '' : `/${format(limit)}`
  const money =
    spent.costUsd === 0 && costUsd === undefined
      ? ''
      : `${formatMoney(spent.costUsd)}${of(costUsd, formatMoney)}`
  const tokenText = `${formatTokens(count)}${of(tokens, formatTokens)} tok`
  const time = ms === undefined ? '' : `${clock(spent.ms)}/${clock(ms)}`
  const join = (...texts: string[]) => texts.filter((text) => text !== '').join(' ')
  const short = join(tokens === undefined ? '' : tokenText, money, time)
  return [join(count > 0 || tokens !== undefined ? tokenText : '', money, time), short]
}

/** The order in which parts give way: what was spent, the title of the task, what the agent does. */
function fitParts(parts: readonly Part[], width: number): string {
  const used = parts.map(() => 0)
  const text = () =>
    parts
      .map((part, index) => part[used[index]!] ?? '')
      .filter((each) => each !== '')
      .join(SEPARATOR)
  for (const index of [parts.length - 1, 1, ...parts.keys()]) {
    if (Bun.stringWidth(text()) <= width) break
    if ((parts[index]?.length ?? 0) > 1) used[index] = 1
  }
  return cut(text(), width)
}

/** `38s`, `4m12s`, `2h05m`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)]
  const two = (count: number) => String(count % 60).padStart(2, '0')
  if (hours > 0) return `${hours}h${two(minutes)}m`
  return minutes > 0 ? `${minutes}m${two(seconds)}s` : `${seconds}s`
}

/** `0:38`, `1:02:10`. */
function stopwatch(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)]
  const two = (count: number) => String(count % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`
}
