import { counted, formatMoney } from '../../base/amounts.ts'
import { listed } from '../../base/shorten.ts'
import { localTime } from '../../base/local-time.ts'
import { printable } from '../../base/terminal/printable.ts'
import { branchAround } from '../../records/events/branch-state.ts'
import { isFailure } from '../../records/events/step-state.ts'
import { waitsOf } from '../../records/events/waits.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { formatSpent } from '../amounts.ts'
import { copyNumber } from '../copies.ts'
import { describeStep } from '../describe.ts'
import { describeEnding } from '../attempts.ts'
import { clock, describeDoing, describeWait } from '../status/status-rows.ts'
import type { Paint } from '../terminal/columns.ts'
import type { Attempt } from './history.ts'
import { selectedIndex, type Live, type Seen } from './live.ts'
import type { LogLine } from './log-lines.ts'
import { attemptOf, isActive, stepName, type TreeRow } from './tree.ts'

/** A line about the selected row: what it is about, and a text. */
export interface Fact {
  readonly name: string
  readonly text: string
  readonly look?: keyof Paint
}

const MOST_FILES = 4

/** Rows above the log: the title, the facts and the tabs. */
export function detailHeight(live: Live, seen: Seen): number {
  const row = seen.rows[selectedIndex(live, seen.rows)]!
  return 2 + describeRow(row, seen).length
}

/** `builder 3/20 · running 4m12s · $0.42`. */
export function titleOf(row: TreeRow, seen: Seen): string {
  const attempt = attemptOf(row)
  if (attempt === undefined) return row.kind === 'run' ? `run ${seen.id}` : nameOf(row, seen)
  const { ms, usage, startedAt, attempt: number } = attempt
  const isNow = ms === undefined && isRunning(attempt, seen)
  const time = isNow ? seen.now - startedAt : ms
  const parts = [
    nameAttempt(row, attempt, seen),
    ...(number > 1 ? [`attempt ${number}`] : []),
    describeState(attempt, seen),
    ...(time === undefined ? [] : [clock(time)]),
    ...(usage?.costUsd === undefined ? [] : [formatMoney(usage.costUsd)]),
  ]
  return printable(parts.join(' · '))
}

function nameAttempt(row: TreeRow, attempt: Attempt, { state }: Pick<Seen, 'state'>): string {
  if (attempt.task !== undefined) return `sub-agent ${attempt.task}`
  const step = row.kind === 'run' || row.kind === 'group' ? undefined : row.step
  if (step === undefined) return `iteration ${attempt.iteration}`
  const { maxIterations } = step
  const of = maxIterations === undefined ? '' : ` ${attempt.iteration}/${maxIterations}`
  return `${stepName(state, step)}${of}`
}

export function nameOf(row: TreeRow, { state }: Pick<Seen, 'state'>): string {
  switch (row.kind) {
    case 'run':
      return 'run'
    case 'group': {
      const { name, kind, maxRounds } = row.group
      const copy = copyNumber(row.group)
      return name ?? `${kind === 'sequence' && maxRounds !== undefined ? 'round' : kind}${copy}`
    }
    case 'step':
      return stepName(state, row.step)
    case 'round':
      return `round ${row.round}`
    case 'attempt':
      return nameAttempt(row, row.attempt, { state })
  }
}

/** What an attempt is about, in the tree: its task, why it failed, or what it changed. */
export function describeAbout({ claimed, outcome, gate, changes }: Attempt): string {
  if (claimed !== undefined) return `${claimed.id} ${claimed.title ?? ''}`
  if (gate !== undefined && gate.result !== 'ok') return 'gate failed'
  if (outcome !== undefined && outcome.kind !== 'marker' && isFailure(outcome))
    return describeEnding(outcome)
  if (changes === undefined || changes.commits + changes.fileCount === 0) return ''
  const { commits, fileCount } = changes
  return commits > 0 ? counted(commits, 'commit') : counted(fileCount, 'file')
}

function describeState(attempt: Attempt, seen: Seen): string {
  const { outcome, success } = attempt
  if (success !== undefined) return success ? 'done' : 'failed'
  if (outcome !== undefined) return describeEnding(outcome)
  return isRunning(attempt, seen) ? 'running' : 'not ended'
}

function isRunning({ to }: Attempt, seen: Seen): boolean {
  return to === undefined && isActive(seen)
}

/** What is most important about a row, in few lines. */
export function describeRow(row: TreeRow, seen: Seen): Fact[] {
  const attempt = attemptOf(row)
  if (attempt === undefined) return []
  const { claimed, gate, changes } = attempt
  const branch = branchAround(seen.state, attempt.scope)
  return [
    ...(claimed === undefined
      ? []
      : [{ name: 'task', text: `${claimed.id} ${claimed.title ?? ''}` }]),
    ...describeNow(attempt, seen),
    ...(gate === undefined
      ? []
      : [
          {
            name: 'gate',
            text: `${gate.result === 'ok' ? '✓' : '✗'} ${gate.command} (${gate.detail})`,
            look: gate.result === 'ok' ? ('green' as const) : ('red' as const),
          },
        ]),
    ...(changes === undefined
      ? []
      : [
          {
            name: 'changes',
            text: `${counted(changes.commits, 'commit')}, ${counted(changes.fileCount, 'file')}${
              changes.fileCount === 0
                ? ''
                : `: ${listed(changes.files, MOST_FILES, changes.fileCount)}`
            }`,
          },
        ]),
    ...(branch === undefined
      ? []
      : [{ name: 'branch', text: `${branch.branch} into ${branch.into}` }]),
  ]
}

function describeNow(attempt: Attempt, seen: Seen): Fact[] {
  const { now, state, activities } = seen
  if (!isActive(seen)) return []
  const { tool, task, step } = attempt
  if (task !== undefined) {
    if (tool === undefined || !isRunning(attempt, seen)) return []
    const since = Date.parse(tool.at)
    const [text = ''] = describeDoing({ kind: 'tool', ...tool, since }, now)
    return [{ name: 'now', text }]
  }
  // Only what runs now is in the activities of a step.
  if (attempt !== seen.history.of(step).at(-1)) return []
  const wait = waitsOf(state).find(({ scope }) => keyOfScope(scope) === step)
  if (wait !== undefined)
    return [{ name: 'now', text: describeWait(wait, now)[0] ?? '', look: 'yellow' }]
  const [text] = describeDoing(activities.of(step).doing, now)
  return text === undefined ? [] : [{ name: 'now', text }]
}

/** What there is to say about the whole run, or about a group. */
export function overviewLines(row: TreeRow, seen: Seen): LogLine[] {
  const { state, history, status, id } = seen
  const own = (text: string): LogLine => ({ text: printable(text), kind: 'own' })
  const isGroup = row.kind === 'group'
  const steps = state.steps.filter(({ key }) => !isGroup || key.startsWith(`${row.group.key}/`))
  const { spent } = isGroup ? row.group : state
  const { ended, startedAt, cwd } = state
  const stopped = ended?.stopped === undefined ? '' : ` (${ended.stopped})`
  const resume = ['failed', 'stopped', 'dead'].includes(status)
  return [
    ...(isGroup
      ? []
      : [
          own(`${status}${stopped}`),
          ...(startedAt === undefined ? [] : [own(`started ${localTime(startedAt)}`)]),
          ...(ended?.at === undefined ? [] : [own(`ended   ${localTime(ended.at)}`)]),
          ...(cwd === undefined ? [] : [own(`in      ${cwd}`)]),
        ]),
    own(`spent   ${formatSpent(spent)}`),
    ...(resume && !isGroup ? [own(`resume  press R, or: forkhestra resume ${id}`)] : []),
    own(''),
    ...steps.map((step) => own(`${stepName(state, step)}: ${describeStep(step)}`)),
    ...(isGroup || history.warnings.length === 0 ? [] : [own('')]),
    ...(isGroup
      ? []
      : history.warnings.map((text): LogLine => ({ text: `Warning: ${text}`, kind: 'failure' }))),
  ]
}

/** The commits and files of an attempt. */
export function changeLines(attempt: Attempt | undefined): LogLine[] {
  const own = (text: string): LogLine => ({ text: printable(text), kind: 'own' })
  const changes = attempt?.changes
  if (attempt === undefined) return [own('Select an iteration to see its changes.')]
  if (changes === undefined)
    return [own(attempt.outcome === undefined ? 'Known when the iteration ends.' : 'No changes.')]
  const { commits, fileCount, files, head } = changes
  const more = fileCount - files.length
  return [
    own(
      `${counted(commits, 'commit')}${head === undefined ? '' : `, now at ${head.slice(0, 12)}`}`,
    ),
    own(counted(fileCount, 'file')),
    ...files.map((file): LogLine => ({ text: `  ${printable(file)}`, kind: 'output' })),
    ...(more > 0 ? [own(`  … and ${more} more`)] : []),
  ]
}
