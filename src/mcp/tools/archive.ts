import { z } from 'zod'
import { UserError } from '../../base/errors.ts'
import { archiveTasks, deleteTask } from '../../tasks/shelve.ts'
import { makeTool } from '../tool.ts'
import { flag, texts } from '../../verbs/fields.ts'

export const archive = makeTool({
  name: 'archive',
  description: 'Put tasks aside, or delete one for good.',
  input: z.strictObject({
    ids: texts,
    done: flag.describe('all that are done'),
    delete: flag,
    force: flag.describe('despite dependents, or not done'),
  }),
  run({ ids = [], done = false, delete: isFinal = false, force = false }, desk) {
    const { places } = desk
    if (done === ids.length > 0) {
      throw new UserError('Which tasks?', 'Give either ids, or done: true.')
    }
    if (isFinal) {
      const [id, ...more] = ids
      if (id !== undefined && more.length === 0) {
        return `Deleted ${deleteTask(places, id, { ...desk, force })}`
      }
      throw new UserError('Only one task is deleted at a time.', 'Give one id.')
    }
    const archived = archiveTasks(places, done ? 'done' : ids, { ...desk, force })
    return archived.length === 0 ? 'Nothing to archive.' : `Archived ${archived.join(', ')}`
  },
})
