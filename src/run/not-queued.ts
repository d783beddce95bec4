import type { End, NotQueued } from '../queue/task.ts'

/** `report was not queued: A task named 'report' is not over yet. Give …`. */
export function notQueuedWords({ name, error, hint = '' }: NotQueued): string {
  return `${name} was not queued: ${error} ${hint}`.trimEnd()
}

/** The same of what was to follow a task. */
export function afterTaskWords(task: string, notQueued: readonly NotQueued[] = []): string[] {
  return notQueued.map((each) => `after task ${task}: ${notQueuedWords(each)}`)
}

/** The field of an event, as a copy of its own. */
export function notQueuedIn(end: Pick<End, 'notQueued'> | null): { notQueued?: NotQueued[] } {
  return end?.notQueued === undefined ? {} : { notQueued: [...end.notQueued] }
}
