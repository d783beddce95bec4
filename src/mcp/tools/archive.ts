import { z } from 'zod'
import { UserError } from '../../base/errors.ts'
import { deleteTask } from '../../tasks/delete.ts'
import { archiveTasks, unarchiveTasks } from '../../tasks/shelve.ts'
import { makeTool } from '../tool.ts'
import { flag, texts } from '../../verbs/fields.ts'

export const archive = makeTool({
  name: 'archive',
  description: 'Put tasks aside or, with undo, back; or delete one.',
  input: z.strictObject({
    ids: texts,
    done: flag.describe('all that are done'),
    undo: flag,
    delete: flag,
    force: flag.describe('despite dependents, or not done'),
  }),
  run({ ids = [], done = false, undo = false, delete: isFinal = false, force = false }, desk) {
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
    if (undo) {
      if (done) throw new UserError('Which tasks?', 'Give their ids.')
      return `Unarchived ${unarchiveTasks(places, ids).join(', ')}`
    }
    const archived = archiveTasks(places, done ? 'done' : ids, { ...desk, force })
    return archived.length === 0 ? 'Nothing to archive.' : `Archived ${archived.join(', ')}`
  },
})
