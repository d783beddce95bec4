import { QueueError } from '../refusal.ts'
import type { NewTask, NotQueued } from '../task.ts'
import { push } from './push.ts'
import type { Books } from './rows.ts'

/** Pushes, within a transaction, all that is not refused; what is refused is returned. */
export function pushWhatFits(books: Books, tasks: readonly NewTask[]): NotQueued[] {
  const error = refusalOf(books, tasks)
  if (error === undefined) return []
  const [first, ...others] = tasks
  if (others.length > 0) return tasks.flatMap((task) => pushWhatFits(books, [task]))
  const { message, hint } = error
  return [{ name: first!.name, error: message, ...(hint === undefined ? {} : { hint }) }]
}

function refusalOf(books: Books, tasks: readonly NewTask[]): QueueError | undefined {
  try {
    books.db.nested(() => push(books, tasks))
    return undefined
  } catch (error) {
    if (error instanceof QueueError) return error
    throw error
  }
}
