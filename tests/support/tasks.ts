import type { Task } from '../../src/tasks/task.ts'

/** A task to show, without a file. */
export function makeTask(number: number, change: Partial<Task> = {}): Task {
  const id = `TASK-${String(number).padStart(3, '0')}`
  return {
    id,
    title: `Title ${number}`,
    status: 'To Do',
    priority: undefined,
    assignee: undefined,
    labels: [],
    dependencies: [],
    parent: undefined,
    due: undefined,
    createdAt: '',
    file: `${id}.md`,
    ...change,
  }
}
