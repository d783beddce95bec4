import { printable, printableLines } from '../base/terminal/printable.ts'
import { localTime } from '../base/local-time.ts'
import type { NextTask } from './claims/claims.ts'
import type { Finding } from './doctor/check.ts'
import type { Readiness } from './ready.ts'
import type { Broken } from './store/scan.ts'
import type { Claim } from './store/state-shape.ts'
import type { Stats } from './stats.ts'
import type { Task } from './task.ts'
import { isOverdue } from './urgency.ts'
import type { Criterion } from './text/criteria.ts'
import type { Brief } from './view.ts'

/** For `--json`: missing values are null or an empty list. */
export function toJson(task: Task): object {
  const { priority, assignee, parent, due, ...rest } = task
  return {
    ...rest,
    priority: priority ?? null,
    assignee: assignee ?? null,
    parent: parent ?? null,
    due: due ?? null,
    isOverdue: isOverdue(task, new Date()),
  }
}

export function plainLine({ id, status, priority, title }: Task): string {
  return `${id} | ${status} | ${priority ?? '-'} | ${printable(title)}`
}

/** The title for people; says if the task is overdue. */
export function renderTitle(task: Task, now: Date): string {
  const late = isOverdue(task, now) ? ` (overdue since ${printable(task.due!)})` : ''
  return `${printable(task.title)}${late}`
}

/** `key: value` lines, then the sections. */
export function renderBrief(brief: Brief): string {
  const lines = [
    ...fieldsOf(brief).flatMap(([key, value]) => (value ? [`${key}: ${printable(value)}`] : [])),
    ...(brief.intro === '' ? [] : ['', brief.intro]),
    ...sectionsOf(brief).flatMap(([name, content]) => {
      const text = typeof content === 'string' ? content : renderChecklist(brief)
      return ['', `## ${name}`, ...(text === '' ? [] : ['', text])]
    }),
  ]
  return printableLines(lines.join('\n'))
}

type ShownSection = readonly [name: string, content: string | Brief['checklist']]

/** The sections to show, in order; the notes of finished dependencies come last. */
export function sectionsOf(brief: Brief): ShownSection[] {
  const own: ShownSection[] = [
    ['Description', brief.description],
    ['Acceptance Criteria', brief.checklist],
    ['Implementation Plan', brief.plan],
    ['Implementation Notes', brief.notes],
  ]
  const learned = brief.dependencies.filter(({ notes }) => notes !== '')
  return [
    ...own.filter(([, content]) => content.length > 0),
    ...brief.others.map(({ name, text }): ShownSection => [name, text]),
    ...learned.map(({ id, notes }): ShownSection => [`Notes of ${id}`, notes]),
  ]
}

type Field = readonly [string, string | undefined]

function fieldsOf(brief: Brief): Field[] {
  const { task, dependencies, blocks, claim } = brief
  return [
    ['id', task.id],
    ['title', task.title],
    ['status', task.status],
    ['priority', task.priority],
    ['assignee', task.assignee],
    ['labels', task.labels.join(', ')],
    ['dependencies', dependencies.map(({ id, status }) => `${id} (${status})`).join(', ')],
    ['blocks', blocks.join(', ')],
    ['parent', task.parent],
    ['due', task.due],
    ['created', task.createdAt],
    ['claimed', claim === undefined ? undefined : claimed(claim)],
    ['changed', brief.changedAt],
    ...pastOf(brief),
    ['file', fileOf(brief)],
  ]
}

function fileOf({ task, isArchived }: Brief): string {
  return isArchived ? `archive/${task.file}` : task.file
}

function pastOf({ attempts, commits = [] }: Brief): Field[] {
  return [
    ...attempts.map(({ owner, at, ended, outcome, why }): Field => {
      const end = why === undefined ? outcome : `${outcome}, ${why}`
      return ['attempt', `${owner}, ${at} to ${ended}: ${end}`]
    }),
    ...commits.map(({ commit, at, author, subject }): Field => {
      return ['commit', `${commit}, ${at}, ${author}: ${subject}`]
    }),
  ]
}

function claimed({ owner, at, run, until, root, settled }: Claim): string {
  if (settled !== undefined) return `${settled} by ${owner} in ${root}, ${at}`
  const isTimed = run === undefined && until !== undefined
  return `${owner} since ${at}${isTimed ? `, until ${until}` : ''}`
}

/** Criteria line by line, with any other text of the section as separate paragraphs. */
function renderChecklist({ checklist }: Brief): string {
  let [text, wasProse] = ['', false]
  for (const piece of checklist) {
    const isProse = typeof piece === 'string'
    const gap = isProse || wasProse ? '\n\n' : '\n'
    text += `${text === '' ? '' : gap}${isProse ? piece : `- ${criterionLines(piece)}`}`
    wasProse = isProse
  }
  return text
}

export function criterionLines({ number, isDone, text }: Criterion): string {
  return `[${isDone ? 'x' : ' '}] #${number} ${text}`.replaceAll('\n', '\n  ')
}

export function briefToJson(brief: Brief): object {
  const { task, claim, checklist, ...rest } = brief
  const hasProse = checklist.some((piece) => typeof piece === 'string')
  return {
    ...toJson(task),
    ...rest,
    checklist: hasProse ? renderChecklist(brief) : '',
    file: fileOf(brief),
    claim: claim ?? null,
  }
}

export function explainedLine({ task, isReady, reasons }: Readiness): string {
  return `${plainLine(task)} | ${isReady ? 'ready' : printable(reasons.join('; '))}`
}

/** Says line by line why there is no next task. */
export function renderWaiting({ waiting, broken, advice }: Omit<NextTask, 'brief'>): string[] {
  if (waiting.length > 0) {
    const lines = waiting.map(
      ({ task, reasons }) => `  ${task.id}: ${printable(reasons.join('; '))}`,
    )
    return ['No task is ready:', ...lines, ...(advice === undefined ? [] : [advice])]
  }
  if (broken.length === 0) return ['No open tasks.']
  const files = broken.length === 1 ? '1 file' : `${broken.length} files`
  return [`${files} cannot be read: forge-tasks doctor`]
}

export function renderStats(stats: Stats): string {
  const { byStatus, openByPriority, ready, total, broken } = stats
  const rows = [
    ...Object.entries(byStatus),
    ['Ready', ready],
    ...Object.entries(openByPriority).map(([name, count]) => [`Open, priority ${name}`, count]),
    ['Total', total],
    ...(broken.length === 0 ? [] : [['Broken files (see: forge-tasks doctor)', broken.length]]),
  ]
  return rows.map(([name, count]) => `${name}: ${count}`).join('\n')
}

export function findingLine({ file, line, problem, mended }: Finding): string {
  const place = line === undefined ? file : `${file}:${line}`
  return printable(`${place}: ${problem}${mended === undefined ? '' : ` -> ${mended}`}`)
}

export function brokenLine({ file, line, problem }: Broken): string {
  return printable(`${file}:${line}: ${problem}`)
}

/** Warns about ending the claim of another owner. */
export function describeEndedClaim(id: string, { owner, at }: Claim): string {
  return `${id} was held by ${printable(owner)} since ${localTime(at)}, who may still be working on it.`
}
