import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { TaskJson } from './queue.ts'
import { journalOf, ofType, runsOf } from './record.ts'

/** One line of a store's history. */
interface Line {
  readonly seq: number
  readonly what: string
  readonly subject: string
  readonly attempt: number
  readonly detail: string
}

export function storeOf(cwd: string): string {
  return join(cwd, 'forge/orch/runs', runsOf(cwd).at(-1)!, 'queue.sqlite')
}

/** Reads the store of the newest run without the code under test. */
export function readStore<Row>(cwd: string, sql: string): Row[] {
  const db = new Database(storeOf(cwd), { readonly: true })
  try {
    return db.query<Row, []>(sql).all()
  } finally {
    db.close()
  }
}

/** The tasks of the newest run with their results, in the order of their pushes. */
export function endsIn(cwd: string): TaskJson[] {
  const rows = readStore<Omit<TaskJson, 'end'> & { readonly end: string | null }>(
    cwd,
    'select name, state, attempt, end from task where depth > 0 order by seq',
  )
  return rows.map(({ end, ...row }) => ({
    ...row,
    end: end === null ? null : (JSON.parse(end) as TaskJson['end']),
  }))
}

function historyOf(cwd: string): Line[] {
  return readStore<Line>(
    cwd,
    'select seq, what, subject, attempt, detail from history order by seq',
  )
}

/** Every attempt that ended according to the events of the newest run, as "id attempt". */
function endsInEvents(cwd: string): string[] {
  const events = journalOf(cwd, runsOf(cwd).at(-1)!)
  return ofType(events, 'task_ended').map(({ id, attempt }) => `${id} ${attempt}`)
}

/** Violations of "each attempt ended once, and both records say so". */
export function wrongEnds(cwd: string): string[] {
  const lines = historyOf(cwd)
  const keys = (what: string) =>
    lines
      .filter((line) => line.what === what)
      .map(({ subject, attempt }) => `${subject} ${attempt}`)
  const [begun, over, reported] = [keys('claimed'), keys('over'), endsInEvents(cwd)]
  const ended = lines.filter(({ what }) => what === 'ended').map(({ subject }) => subject)
  return [
    ...twice(begun).map((key) => `begun twice: ${key}`),
    ...twice(over).map((key) => `over twice: ${key}`),
    ...twice(ended).map((key) => `ended twice: ${key}`),
    ...twice(reported).map((key) => `reported twice by the events: ${key}`),
    ...missing(begun, over).map((key) => `never over: ${key}`),
    ...missing(over, begun).map((key) => `never begun: ${key}`),
    ...missing(over, reported).map((key) => `not reported by the events: ${key}`),
    ...missing(reported, over).map((key) => `reported by the events alone: ${key}`),
  ]
}

/** Violations of "every result was delivered, each message to one reader". */
export function wrongDeliveries(cwd: string): string[] {
  const lines = historyOf(cwd)
  const of = (what: string) =>
    lines.filter((line) => line.what === what).map(({ subject }) => subject)
  const [sent, acked] = [of('sent'), of('acked')]
  const wanted = of('ended').map((id) => `${id}.result`)
  return [
    ...twice(sent).map((id) => `sent twice: ${id}`),
    ...twice(acked).map((id) => `read twice: ${id}`),
    ...missing(wanted, sent).map((id) => `no message: ${id}`),
    ...missing(wanted, acked).map((id) => `never read: ${id}`),
    ...sent.flatMap((id) => inTwoHands(lines.filter(({ subject }) => subject === id))),
  ]
}

/** A message has one holder at a time, and only its holder acknowledges it. */
function inTwoHands(lines: readonly Line[]): string[] {
  let hand: string | undefined
  return lines.flatMap(({ what, subject, attempt, detail }) => {
    if (what === 'leased') {
      const before = hand
      hand = `${detail} ${attempt}`
      return before === undefined ? [] : [`${subject} is in the hands of ${before} and ${hand}`]
    }
    if (what === 'acked') return detail === hand ? [] : [`${subject} was read by ${detail}`]
    if (what === 'returned') hand = undefined
    return []
  })
}

function twice(keys: readonly string[]): string[] {
  return keys.filter((key, index) => keys.indexOf(key) !== index)
}

function missing(wanted: readonly string[], there: readonly string[]): string[] {
  const set = new Set(there)
  return wanted.filter((key) => !set.has(key))
}
