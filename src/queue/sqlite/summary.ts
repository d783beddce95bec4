import { errorText, errorWithHint, UserError } from '../../base/errors.ts'
import { lstatOf } from '../../base/files.ts'
import type { QueueSummary, Unreadable } from '../store.ts'
import { QueueError } from '../refusal.ts'
import { asRefusal } from './connection.ts'
import { acknowledgedIn } from './history-count.ts'
import { refuseAltered } from './damage.ts'
import { OTHER_RUN, refuseEmptied, refuseIncomplete, unversioned } from './open.ts'
import { SCHEMA_VERSION } from './schema.ts'

/**
 * What there is in the store of a run: without a word to it, so that it is as it was; or why
 * that cannot be read.
 */
export function readSummary(path: string, run: string): QueueSummary | Unreadable {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  try {
    const acknowledged = acknowledgedIn(path)
    if (lstatOf(path)?.isFile() !== true) throw new QueueError({ kind: 'not_a_store', place: path })
    refuseEmptied(path, () => acknowledged > 0)
    const database = new DatabaseSync(path, { readOnly: true, timeout: 1000 })
    try {
      const { user_version: version } = database.prepare('pragma user_version').get() as {
        user_version: number
      }
      // Whatever its tables say, it may mean something else by now.
      if (version > SCHEMA_VERSION) {
        throw new QueueError({ kind: 'newer_version', place: path, version })
      }
      refuseAltered(database, path)
      const { last, ...glance } = database.prepare(COUNTS).get() as unknown as Omit<
        QueueSummary,
        'redone'
      > & { readonly last: number }
      if (version < 1) throw unversioned(path, version)
      const other = database.prepare(OTHER_RUN).get(run)?.['run']
      if (typeof other === 'string') {
        throw new QueueError({ kind: 'other_run', place: path, run: other })
      }
      refuseIncomplete(path, acknowledged - last)
      if (glance.failed === 0) return { ...glance, redone: 0 }
      const { redone } = database.prepare(REDONE).get() as { redone: number }
      return { ...glance, redone }
    } finally {
      database.close()
    }
  } catch (error) {
    return { why: errorWithHint(explain(error, path)).replaceAll('\n', ' ') }
  }
}

/** It only reads what every store has: whatever goes wrong, the file is to blame. */
function explain(error: unknown, place: string): unknown {
  const refusal = asRefusal(error, place)
  if (refusal instanceof UserError) return refusal
  return new QueueError({ kind: 'broken', place, detail: errorText(error) })
}

const COUNTS = `
select
  count(*) filter (where state = 'queued') as queued,
  count(*) filter (where state = 'ready') as ready,
  count(*) filter (where state = 'running') as running,
  count(*) filter (where state = 'ended' and not json_extract(outcome, '$.success')) as failed,
  count(*) filter (where state = 'ended' and json_extract(outcome, '$.success')) as done,
  (select count(*) from message where recipient in (select id from task where depth = 0)) as unread,
  (select coalesce(max(seq), 0) from history) as last
from task where depth > 0`

/** Pushed by the same agent after the failure, under the same name, or with the same prompt for the same kind. */
const REDONE = `
with ended as (
  select task.*, json_extract(options, '$.agent') as agent, coalesce(prompt.text, beginning) as text,
    json_extract(outcome, '$.success') as success
  from task left join prompt on prompt.task = task.seq
  where depth > 0 and state = 'ended'
),
by_name as (select parent, name, max(at) as at from ended where success group by 1, 2),
by_prompt as (select parent, agent, text, max(at) as at from ended where success group by 1, 2, 3)
select count(*) as redone
from ended as failed
left join by_name on by_name.parent = failed.parent and by_name.name = failed.name
left join by_prompt on by_prompt.parent = failed.parent and by_prompt.agent is failed.agent
  and by_prompt.text = failed.text
where not failed.success and max(coalesce(by_name.at, 0), coalesce(by_prompt.at, 0)) >= failed.since`
