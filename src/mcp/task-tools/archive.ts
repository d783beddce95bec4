import { z } from 'zod'
import { UserError } from '../../base/errors.ts'
import { flag, texts } from './fields.ts'
import { findingLine, renderStats } from '../../tasks/render.ts'
import { atMost, makeTaskTool } from './task-tool.ts'

export const archive = makeTaskTool({
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

const MOST_FINDINGS = 100

export const doctor = makeTaskTool({
  name: 'doctor',
  description: 'Count tasks and check their files; fix repairs them.',
  input: z.strictObject({ fix: flag }),
  run({ fix = false }, { database }) {
    const findings = database.doctor({ fix })
    const lines = findings.length === 0 ? ['No problems found.'] : findings.map(findingLine)
    const shown = atMost(MOST_FINDINGS, lines, 'fix these first')
    return [renderStats(database.stats()), '', ...shown].join('\n')
  },
})
