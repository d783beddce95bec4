import { z } from 'zod'
import { UserError } from '../../base/errors.ts'
import { makeTool } from '../tool.ts'
import { flag, texts } from './fields.ts'

export const archive = makeTool({
  name: 'archive',
  description: 'Archive tasks or, with undo, bring them back; or delete one.',
  input: z.strictObject({
    ids: texts,
    done: flag.describe('all that are done'),
    undo: flag,
    delete: flag,
    force: flag.describe('even if not done, or others depend on it'),
  }),
  run(
    { ids = [], done = false, undo = false, delete: isFinal = false, force = false },
    { database },
  ) {
    if (done === ids.length > 0) {
      throw new UserError('No tasks selected.', 'Pass either ids or done: true.')
    }
    if (isFinal) {
      const [id, ...more] = ids
      if (id !== undefined && more.length === 0) {
        return `Deleted ${database.delete(id, { force })}`
      }
      throw new UserError('Only one task can be deleted at a time.', 'Pass one id.')
    }
    if (undo) {
      if (done) throw new UserError('done cannot be combined with undo.', 'Pass ids.')
      return `Unarchived ${database.unarchive(ids).join(', ')}`
    }
    const archived = database.archive(done ? 'done' : ids, { force })
    return archived.length === 0 ? 'Nothing to archive.' : `Archived ${archived.join(', ')}`
  },
})
