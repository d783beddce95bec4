import { UserError } from '../base/errors.ts'

/** Deeper nesting means that a chain calls itself. */
const DEEPEST = 16

/** Refuses a run that is inside of too many others. */
export function checkDepth(path: string | undefined): void {
  const depth = path === undefined ? 0 : path.split(':').length
  if (depth < DEEPEST) return
  throw new UserError(
    `Runs are nested too deeply (${depth} levels).`,
    'Look for an agent that starts its own chain.',
  )
}
