import { counted, formatMoney } from '../../base/amounts.ts'
import { listed } from '../../base/shorten.ts'
import { localTime } from '../../base/local-time.ts'
import { printable } from '../../base/terminal/printable.ts'
import { branchAround } from '../../records/events/branch-state.ts'
import type { Attempt } from '../../records/events/attempts.ts'
import { waitsOf } from '../../records/events/waits.ts'
import { isInside, keyOfScope } from '../../records/events/tree.ts'
import { formatSpent } from '../amounts.ts'
import { copyNumber } from '../copies.ts'
import { describeStep } from '../describe.ts'
import { describeAttempt } from '../attempts.ts'
import { clock, describeDoing, describeWait } from '../status/status-rows.ts'
import type { Paint } from '../terminal/columns.ts'
import type { Entry } from './history.ts'
import { selectedIndex, type Live, type Seen } from './live.ts'
import type { LogLine } from './log-lines.ts'
import { entryOf, isActive, stepName, type TreeRow } from './tree.ts'

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

/** `builder 3/20 · running · 4m12s · $0.42`. */
export function titleOf(row: TreeRow, seen: Seen): string {
  const entry = entryOf(row)
  if (entry === undefined) return row.kind === 'run' ? `run ${seen.id}` : nameOf(row, seen)
  const { ms, usage, startedAt, attempt } = entry.of
  const time = isRunning(entry, seen) ? seen.now - Date.parse(startedAt) : ms
  const parts = [
    nameAttempt(row, entry, seen),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    describeState(entry, seen),
    ...(time === undefined ? [] : [clock(time)]),
    ...(usage?.costUsd === undefined ? [] : [formatMoney(usage.costUsd)]),
  ]
  return printable(parts.join(' · '))
}

function nameAttempt(row: TreeRow, { task, of }: Entry, { state }: Pick<Seen, 'state'>): string {
  if (task !== undefined) return `sub-agent ${task}`
  const step = row.kind === 'run' || row.kind === 'group' ? undefined : row.step
  if (step === undefined) return `iteration ${of.iteration}`
  const { maxIterations } = step
  const count = maxIterations === undefined ? '' : ` ${of.iteration}/${maxIterations}`
  return `${stepName(state, step)}${count}`
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
      return nameAttempt(row, row.entry, { state })
  }
}

/** What an attempt is about, in the tree: why it failed, its task, or what it changed. */
export function describeAbout(row: TreeRow & { kind: 'attempt' }): string {
  const { of, task: subAgent } = row.entry
  if (subAgent !== undefined) return ''
  if (row.mark === 'failed' || row.mark === 'refused') return describeAttempt(of).words
  const task = of.tasks.at(-1)
  if (task !== undefined) return `${task.id} ${task.title ?? ''}`.trimEnd()
  const changes = changesOf(of)
  if (changes === undefined) return ''
  const { commits, fileCount } = changes
  return commits > 0 ? counted(commits, 'commit') : counted(fileCount, 'file')
}

function describeState(entry: Entry, seen: Seen): string {
  const { of, success } = entry
  if (success !== undefined) return success ? 'done' : 'failed'
  if (isRunning(entry, seen)) return 'running'
  const isOpen = of.outcome === undefined && of.isKilled !== true
  return isOpen ? 'not ended' : describeAttempt(of).words
}

function isRunning({ to }: Entry, seen: Seen): boolean {
  return to === undefined && isActive(seen)
}

/** What is most important about a row, in few lines. */
export function describeRow(row: TreeRow, seen: Seen): Fact[] {
  const entry = entryOf(row)
  if (entry === undefined) return []
  const { tasks, commands, scope } = entry.of
  const changes = changesOf(entry.of)
  const task = tasks.at(-1)
  const gate = commands.findLast(({ role }) => role === 'verify')
  const branch = branchAround(seen.state, scope)
  return [
    ...(task === undefined ? [] : [{ name: 'task', text: `${task.id} ${task.title ?? ''}` }]),
    ...describeNow(entry, seen),
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

function describeNow(entry: Entry, seen: Seen): Fact[] {
  const { now, state, activities } = seen
  if (!isActive(seen)) return []
  const { tool, task, step } = entry
  if (task !== undefined) {
    if (tool === undefined || !isRunning(entry, seen)) return []
    const since = Date.parse(tool.at)
    const [text = ''] = describeDoing({ kind: 'tool', ...tool, since }, now)
    return [{ name: 'now', text }]
  }
  // Only what runs now is in the activities of a step.
  if (entry !== seen.history.of(step).at(-1)) return []
  const wait = waitsOf(state).find(({ scope }) => keyOfScope(scope) === step)
  if (wait !== undefined)
    return [{ name: 'now', text: describeWait(wait, now)[0] ?? '', look: 'yellow' }]
  const [text] = describeDoing(activities.of(step).doing, now)
  return text === undefined ? [] : [{ name: 'now', text }]
}

/** What there is to say about the whole run, or about a group. */
export function overviewLines(row: TreeRow, seen: Seen): LogLine[] {
  const { state, history } = seen
  const [within, spent] =
    row.kind === 'group' ? [row.group.key, row.group.spent] : ['', state.spent]
  const steps = state.steps.filter((step) => isInside(step, within))
  const texts = [
    ...(within === '' ? describeRun(seen) : []),
    `spent   ${formatSpent(spent)}`,
    ...(within === '' && isResumable(seen) ? ['resume  press R'] : []),
    '',
    ...steps.map((step) => `${stepName(state, step)}: ${describeStep(step)}`),
  ]
  const warnings = within === '' ? history.warnings.map((text) => `Warning: ${text}`) : []
  return [
    ...texts.map((text): LogLine => ({ text: printable(text), kind: 'output' })),
    ...warnings.map((text): LogLine => ({ text, kind: 'warning' })),
  ]
}

function describeRun({ state: { ended, startedAt, cwd }, status }: Seen): string[] {
  return [
    `${status}${ended?.stopped === undefined ? '' : ` (${ended.stopped})`}`,
    ...(startedAt === undefined ? [] : [`started ${localTime(startedAt)}`]),
    ...(ended?.at === undefined ? [] : [`ended   ${localTime(ended.at)}`]),
    ...(cwd === undefined ? [] : [`in      ${cwd}`]),
  ]
}

export function isResumable(run: Pick<Seen, 'status'>): boolean {
  return !isActive(run) && run.status !== 'complete'
}

/** Undefined if nothing has changed. */
function changesOf({ changes }: Attempt): Attempt['changes'] {
  return changes !== undefined && changes.commits + changes.fileCount > 0 ? changes : undefined
}

/** The commits and files of an attempt. */
export function changeLines(attempt: Attempt): LogLine[] {
  const own = (text: string): LogLine => ({ text: printable(text), kind: 'own' })
  if (attempt.outcome === undefined) return [own('Known when the iteration ends.')]
  const changes = changesOf(attempt)
  if (changes === undefined) return [own('No changes.')]
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
