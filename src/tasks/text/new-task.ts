import { CRITERIA_BEGIN, CRITERIA_END, escapeContent } from './body.ts'
import { renderCriterion } from './criteria.ts'
import { renderValue, wellFormed } from './render-yaml.ts'
import { checkDue, checkTitle } from './check-text.ts'
import { renderId, type TaskId } from '../id.ts'
import type { Priority, Status } from '../status.ts'

/** `dependencies` are ids, or `@key` for another task of the same batch. */
export interface NewTask {
  readonly key?: string | undefined
  readonly title: string
  readonly description?: string | undefined
  readonly status?: Status | undefined
  /** `none` overrides the default priority. */
  readonly priority?: Priority | 'none' | undefined
  readonly assignee?: string | undefined
  readonly labels?: readonly string[]
  readonly dependencies?: readonly string[]
  readonly parent?: string | undefined
  readonly criteria?: readonly string[]
  readonly plan?: string | undefined
  readonly due?: string | undefined
}

export function renderNewTask(id: TaskId, task: NewTask, now: Date): string {
  const { description = '', plan = '', criteria = [] } = task
  const items = criteria.map((words, index) => `${renderCriterion(index + 1, words)}\n`)
  return `---
${renderFields(id, task, now)}
---

## Description
${renderContent(description)}
## Acceptance Criteria

${CRITERIA_BEGIN}
${items.join('')}${CRITERIA_END}

## Implementation Plan
${renderContent(plan)}
## Implementation Notes
`
}

function renderContent(text: string): string {
  const content = escapeContent(text, '\n')
  return content === '' ? '' : `\n${content}\n`
}

function renderFields(id: TaskId, task: NewTask, now: Date): string {
  const { priority, assignee, labels = [], dependencies = [], parent, due } = task
  const fields: (readonly [string, string | readonly string[] | undefined])[] = [
    ['id', renderId(id)],
    ['title', checkTitle(task.title)],
    ['status', task.status ?? 'To Do'],
    ['priority', priority === 'none' ? undefined : priority],
    ['assignee', assignee],
    ['labels', labels],
    ['dependencies', dependencies],
    ['parent', parent],
    ['due', due === undefined ? undefined : checkDue(due)],
    ['createdAt', now.toISOString()],
  ]
  return fields
    .filter(([, value]) => value !== undefined && value.length > 0)
    .map(([key, value]) => `${key}: ${renderValue(wellFormed(value!))}`)
    .join('\n')
}
