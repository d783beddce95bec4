import { criterionLines, sectionsOf } from '../../tasks/render.ts'
import type { Criterion } from '../../tasks/text/criteria.ts'
import type { Brief } from '../../tasks/view.ts'
import { wrap } from '../terminal/columns.ts'

export interface CardLine {
  readonly text: string
  readonly isHeading?: boolean
  readonly criterion?: Criterion
}

export function cardLines(brief: Brief, width: number): readonly CardLine[] {
  const { task } = brief
  const plain = (text: string) => wrap(text, width).map((line) => ({ text: line }))
  const heading = (text: string) =>
    wrap(text, width).map((line) => ({ text: line, isHeading: true }))
  const checklist = () =>
    brief.checklist.flatMap((piece) =>
      typeof piece === 'string'
        ? plain(piece)
        : wrap(criterionLines(piece), width).map((line) => ({ text: line, criterion: piece })),
    )
  return [
    ...heading(`${task.id}  ${task.title}`),
    ...fieldsOf(brief).flatMap(([key, value]) => (value ? plain(`${key}: ${value}`) : [])),
    ...(brief.intro === '' ? [] : [{ text: '' }, ...plain(brief.intro)]),
    ...sectionsOf(brief).flatMap(([name, content]) => [
      { text: '' },
      ...heading(name),
      ...(typeof content !== 'string' ? checklist() : content === '' ? [] : plain(content)),
    ]),
  ]
}

function attemptOf({ owner, outcome, why }: Brief['attempts'][number]): string {
  return `${owner}: ${why === undefined ? outcome : `${outcome}, ${why}`}`
}

/** The open dependencies of a task that is To Do. */
function waitsFor({ task, dependencies }: Brief): string {
  if (task.status !== 'To Do') return ''
  const open = dependencies.filter(({ status }) => status !== 'Done')
  return open.map(({ id, status }) => `${id} (${status})`).join(', ')
}

function fieldsOf(brief: Brief): (readonly [string, string | undefined])[] {
  const { task, claim } = brief
  const since = claim?.settled === undefined ? 'since' : `${claim.settled} in ${claim.root} since`
  return [
    ['status', task.status],
    ['priority', task.priority],
    ['assignee', task.assignee],
    ['claimed', claim === undefined ? undefined : `${claim.owner}, ${since} ${claim.at}`],
    ['labels', task.labels.join(', ')],
    ['depends on', brief.dependencies.map(({ id, status }) => `${id} (${status})`).join(', ')],
    ['waits for', waitsFor(brief)],
    ['blocks', brief.blocks.join(', ')],
    ['parent', task.parent],
    ['due', task.due],
    ['created', task.createdAt],
    ['attempts', brief.attempts.map(attemptOf).join('; ')],
    ['file', task.file],
  ]
}
