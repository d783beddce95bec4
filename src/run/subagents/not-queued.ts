import type { End, NotQueued } from '../../queue/task.ts'

/** `report was not queued: A task named 'report' is not over yet. Use …`. */
export function describeNotQueued({ name, error, hint = '' }: NotQueued): string {
  return `${name} was not queued: ${error} ${hint}`.trimEnd()
}

/** One line for each task that could not be queued after `task`. */
export function describeFollowUps(task: string, notQueued: readonly NotQueued[] = []): string[] {
  return notQueued.map((each) => `after task ${task}: ${describeNotQueued(each)}`)
}

/** The event field, copied because events are mutable. */
export function notQueuedIn(end: Pick<End, 'notQueued'> | null): { notQueued?: NotQueued[] } {
  return end?.notQueued === undefined ? {} : { notQueued: [...end.notQueued] }
}
