import { errorText } from '../../base/errors.ts'
import { lstatOf } from '../../base/files.ts'
import type { Glance, Unreadable } from '../glance.ts'
import { QueueError } from '../refusal.ts'
import { asRefusal } from './connection.ts'
import { SCHEMA_VERSION, VIEWS } from './schema.ts'

/**
 * What there is in a store, of all its runs: without a word to it, so that it is as it was; or why
 * that cannot be read.
 */
export function glanceAt(path: string): Glance | Unreadable {
  const foreign = { why: errorText(new QueueError({ kind: 'not_a_store', place: path })) }
  if (lstatOf(path)?.isFile() !== true) return foreign
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 1000 })
    try {
      const { user_version: version } = database.prepare('pragma user_version').get() as {
        user_version: number
      }
      // Whatever its tables say, it may mean something else by now.
      if (version > SCHEMA_VERSION) {
        return { why: errorText(new QueueError({ kind: 'newer_version', place: path, version })) }
      }
      if (database.prepare(VIEWS).get() !== undefined) return foreign
      return database.prepare(COUNTS).get() as unknown as Glance
    } finally {
      database.close()
    }
  } catch (error) {
    return { why: errorText(asRefusal(error, path)) }
  }
}

const COUNTS = `
select
  count(*) filter (where state = 'queued') as queued,
  count(*) filter (where state = 'ready') as ready,
  count(*) filter (where state = 'running') as running,
  count(*) filter (where state = 'ended' and not json_extract(outcome, '$.success')) as failed,
  count(*) filter (where state = 'ended' and json_extract(outcome, '$.success')) as done,
  (select count(*) from message where recipient in (select id from task where depth = 0)) as unread
from task where depth > 0`
