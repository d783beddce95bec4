import type { Entry } from '../history.ts'
import type { Tables } from '../ledger.ts'
import { Ledger } from '../ledger.ts'
import type { StoreContext } from './rows.ts'

/** Read in parts, so that a long history needs little memory. */
const PART = 1000

export function verify(context: StoreContext, run: string): readonly string[] {
  const ledger = new Ledger()
  for (let seq = 0; ;) {
    const entries = context.db.all<Entry & { seq: number }>(
      `select seq, what, subject, attempt, detail from history where run = ? and seq > ?
       order by seq limit ${PART}`,
      run,
      seq,
    )
    for (const entry of entries) ledger.add(entry)
    if (entries.length < PART) break
    seq = entries.at(-1)!.seq
  }
  return [...ledger.close(tablesOf(context, run)), ...checkFile(context)]
}

function tablesOf({ db }: StoreContext, run: string): Tables {
  type Flagged<Row> = Omit<Row, 'hasLease'> & { readonly hasLease: number }
  const tasks = db.all<Flagged<Tables['tasks'][number]>>(
    `select id, state, attempt, worker, lease_until is not null as hasLease
     from task where run = ? and depth > 0`,
    run,
  )
  const messages = db.all<Flagged<Tables['messages'][number]>>(
    `select id, reader, delivery, lease_until is not null as hasLease from message where run = ?`,
    run,
  )
  return {
    tasks: tasks.map((row) => ({ ...row, hasLease: row.hasLease === 1 })),
    messages: messages.map((row) => ({ ...row, hasLease: row.hasLease === 1 })),
  }
}

function checkFile({ db }: StoreContext): string[] {
  const found = db.damage().map((line) => `the file: ${line}`)
  const { rows, last } = db.get<{ rows: number; last: number | null }>(
    'select count(*) as rows, max(seq) as last from history',
  )!
  if (rows !== (last ?? 0)) found.push(`${(last ?? 0) - rows} lines of the history are missing`)
  return found
}
