import type { Task } from '../../tasks/task.ts'
import type { Brief } from '../../tasks/view.ts'

/** A task as scripts get it: what is absent is null, or an empty list. */
export function toJson(task: Task): object {
  const { priority, assignee, parent, due, ...rest } = task
  return {
    ...rest,
    priority: priority ?? null,
    assignee: assignee ?? null,
    parent: parent ?? null,
    due: due ?? null,
  }
}

export function plainLine({ id, status, priority, title }: Task): string {
  return `${id} | ${status} | ${priority ?? '-'} | ${title}`
}

/** A table for people, as wide as it has to be. */
export function renderTable(tasks: readonly Task[]): string {
  const rows = tasks.map(({ id, status, priority, assignee, title }) => [
    id,
    status,
    priority ?? '',
    assignee ?? '',
    title,
  ])
  const widths = [0, 1, 2, 3].map((column) => {
    return Math.max(0, ...rows.map((row) => Bun.stringWidth(row[column] ?? '')))
  })
  return rows
    .map((row) => {
      const cells = row.slice(0, 4).map((cell, column) => padEnd(cell, widths[column] ?? 0))
      return `${cells.filter((_, column) => widths[column]! > 0).join('  ')}  ${row[4]}`
    })
    .join('\n')
}

function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - Bun.stringWidth(text)))
}

/** `key: value` lines, then the sections: the same for people and agents. */
export function renderBrief(brief: Brief): string {
  const { task, criteria, dependencies, blocks, claim, attempts } = brief
  const fields: [string, string | undefined][] = [
    ['id', task.id],
    ['title', task.title],
    ['status', task.status],
    ['priority', task.priority],
    ['assignee', task.assignee],
    ['labels', task.labels.join(', ') || undefined],
    [
      'dependencies',
      dependencies.map(({ id, status }) => `${id} (${status})`).join(', ') || undefined,
    ],
    ['blocks', blocks.join(', ') || undefined],
    ['parent', task.parent],
    ['due', task.due],
    ['created', task.createdAt || undefined],
    ['claimed', claim === undefined ? undefined : `${claim.owner} since ${claim.at}`],
    [
      'attempts',
      attempts.map(({ owner, outcome, why }) => `${owner}: ${why ?? outcome}`).join('; ') ||
        undefined,
    ],
    ['file', task.file],
  ]
  const checks = criteria.map(
    ({ number, isDone, text }) => `- [${isDone ? 'x' : ' '}] #${number} ${text}`,
  )
  const learned = dependencies.filter(({ notes }) => notes !== '')
  return [
    ...fields.flatMap(([key, value]) => (value === undefined ? [] : [`${key}: ${value}`])),
    ...section('Description', brief.description),
    ...section('Acceptance Criteria', checks.join('\n')),
    ...section('Implementation Plan', brief.plan),
    ...section('Implementation Notes', brief.notes),
    ...brief.others.flatMap(({ name, text }) => section(name, text)),
    ...learned.flatMap(({ id, notes }) => section(`Notes of ${id}`, notes)),
  ].join('\n')
}

function section(name: string, text: string): string[] {
  return text === '' ? [] : ['', `## ${name}`, '', text]
}

export function briefToJson(brief: Brief): object {
  const { task, claim, ...rest } = brief
  return { ...toJson(task), ...rest, claim: claim ?? null }
}
