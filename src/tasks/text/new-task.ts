import { applyChanges } from './changes.ts'
import { checkTitle } from './check-text.ts'
import { setField } from './frontmatter.ts'
import { renderId, type TaskId } from '../id.ts'
import type { Priority, Status } from '../words.ts'

/** A task to be made. `dependencies` may be ids, or `@key` for another one of the same batch. */
export interface NewTask {
  readonly key?: string | undefined
  readonly title: string
  readonly description?: string | undefined
  readonly status?: Status | undefined
  readonly priority?: Priority | undefined
  readonly assignee?: string | undefined
  readonly labels?: readonly string[]
  readonly dependencies?: readonly string[]
  readonly parent?: string | undefined
  readonly criteria?: readonly string[]
  readonly plan?: string | undefined
  readonly due?: string | undefined
}

const BODY = `
## Description

## Acceptance Criteria

<!-- AC:BEGIN -->
<!-- AC:END -->

## Implementation Plan

## Implementation Notes
`

/** The file of a new task. Its fields come in the order in which people like to read them. */
export function renderNewTask(id: TaskId, task: NewTask, now: Date): string {
  const { priority, assignee, parent, due, description, plan } = task
  const title = checkTitle(task.title)
  const blank = `---\nid: ${renderId(id)}\n---\n${BODY}`
  const begun = applyChanges(
    blank,
    {
      title,
      status: task.status ?? 'To Do',
      priority,
      assignee: assignee || undefined,
      addLabels: task.labels ?? [],
      addDependencies: task.dependencies ?? [],
    },
    now,
  )
  const filled = applyChanges(
    begun,
    {
      parent,
      due: due || undefined,
      description: description || undefined,
      plan: plan || undefined,
      addCriteria: task.criteria ?? [],
    },
    now,
  )
  return setField(filled, 'createdAt', now.toISOString())
}
