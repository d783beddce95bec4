import { Ledger, type HistoryEntry, type Tables } from '../ledger.ts'
import type { StoreContext } from './rows.ts'

export function verify(context: StoreContext, run: string): readonly string[] {
  const ledger = new Ledger()
  const entries = context.db.all<HistoryEntry>(
    'select what, subject, attempt, detail from history where run = ? order by seq',
    run,
  )
  for (const entry of entries) ledger.add(entry)
  return [...ledger.close(tablesOf(context, run)), ...checkFile(context)]
}

function tablesOf({ db }: StoreContext, run: string): Tables {
  return {
    tasks: db.all<Tables['tasks'][number]>(
      `select id, state, attempt, worker, lease_until as leaseUntil
       from task where run = ? and depth > 0`,
      run,
    ),
    messages: db.all<Tables['messages'][number]>(
      'select id, reader, delivery, lease_until as leaseUntil from message where run = ?',
      run,
    ),
  }
}

function checkFile({ db }: StoreContext): string[] {
  const found = db.findDamage().map((line) => `the file: ${line}`)
  const { rows, last } = db.get<{ rows: number; last: number | null }>(
    'select count(*) as rows, max(seq) as last from history',
  )!
  if (rows !== (last ?? 0)) found.push(`${(last ?? 0) - rows} lines of the history are missing`)
  return found
}
