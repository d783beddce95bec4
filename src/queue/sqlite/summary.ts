import { errorText, errorWithHint, UserError } from '../../base/errors.ts'
import { QueueError } from '../refusal.ts'
import type { QueueSummary, Unreadable } from '../store.ts'
import { toQueueError } from './connection.ts'
import { refuseAltered } from './damage.ts'
import { openReadOnly, OTHER_RUN, refuseEmptied, refuseIncomplete, unversioned } from './open.ts'
import { SCHEMA_VERSION } from './schema.ts'
import { acknowledgedIn } from './side-files.ts'

/** Reads the counts of a run's store without writing to it; returns the reason if it cannot. */
export function readSummary(place: string, run: string): QueueSummary | Unreadable {
  try {
    const acknowledged = acknowledgedIn(place)
    refuseEmptied(place, () => acknowledged > 0)
    const database = openReadOnly(place)
    try {
      const version = Number(database.prepare('pragma user_version').get()?.['user_version'])
      if (version > SCHEMA_VERSION) throw new QueueError({ kind: 'newer_version', place, version })
      refuseAltered(database, place)
      const { last, ...counts } = database.prepare(COUNTS).get() as unknown as Counts
      if (version < 1) throw unversioned(place, version)
      const other = database.prepare(OTHER_RUN).get(run)?.['run']
      if (typeof other === 'string') throw new QueueError({ kind: 'other_run', place, run: other })
      refuseIncomplete(place, acknowledged - last)
      if (counts.failed === 0) return { ...counts, redone: 0, cancelled: 0 }
      const { redone, cancelled } = database.prepare(REDONE).get() as Record<string, number>
      return { ...counts, redone: Number(redone), cancelled: Number(cancelled) }
    } finally {
      database.close()
    }
  } catch (error) {
    return { why: errorWithHint(explain(error, place)).replaceAll('\n', ' ') }
  }
}

type Counts = Omit<QueueSummary, 'redone' | 'cancelled'> & { readonly last: number }

/** The queries are valid for every store, so a failure means that the file is damaged. */
function explain(error: unknown, place: string): unknown {
  const refusal = toQueueError(error, place)
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

/**
 * Failed tasks that the same parent pushed again later, with the same name, or with the same prompt and
 * agent, and that succeeded then; and the other ones that were cancelled.
 */
const REDONE = `
with ended as (
  select task.*, json_extract(options, '$.agent') as agent, coalesce(prompt.text, beginning) as text,
    json_extract(outcome, '$.success') as success, json_extract(outcome, '$.class') as class
  from task left join prompt on prompt.task = task.seq
  where depth > 0 and state = 'ended'
),
by_name as (select parent, name, max(at) as at from ended where success group by 1, 2),
by_prompt as (select parent, agent, text, max(at) as at from ended where success group by 1, 2, 3),
failed as (
  select failed.class, max(coalesce(by_name.at, 0), coalesce(by_prompt.at, 0)) >= failed.since as redone
  from ended as failed
  left join by_name on by_name.parent = failed.parent and by_name.name = failed.name
  left join by_prompt on by_prompt.parent = failed.parent and by_prompt.agent is failed.agent
    and by_prompt.text = failed.text
  where not failed.success
)
select count(*) filter (where redone) as redone,
  count(*) filter (where not redone and class = 'cancelled') as cancelled
from failed`
