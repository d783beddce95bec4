import type { DatabaseSync } from 'node:sqlite'
import { QueueError } from '../refusal.ts'
import { SCHEMA, SCHEMA_VERSION } from './schema.ts'

type Readable = Pick<DatabaseSync, 'prepare'>

/** What is wrong with the file itself, whatever it says of tasks and messages. */
export function damageOf(database: Readable): string[] {
  const lines = database.prepare('pragma integrity_check').all() as { integrity_check: string }[]
  const { missing, unexpected } = compareSchema(database)
  return [
    ...lines.map((line) => line.integrity_check).filter((line) => line !== 'ok'),
    ...missing.map(({ part }) => `${part} is missing`),
    ...unexpected,
  ]
}

/**
 * Refuses a store with which no statement of ours does what it should. A view or a trigger of
 * somebody else could even compute for ever. A missing index or trigger of ours is left to `damageOf`.
 */
export function refuseAltered(database: Readable, place: string): void {
  const { missing, unexpected, isBlank } = compareSchema(database)
  // Another process is just making it.
  if (isBlank) return
  const [table] = missing.filter(({ type }) => type === 'table')
  const detail = table === undefined ? unexpected[0] : `${table.part} is missing`
  if (detail !== undefined) throw new QueueError({ kind: 'altered', place, detail })
}

interface Part {
  readonly type: string
  readonly part: string
  readonly sql: string
}

interface Comparison {
  readonly missing: readonly Part[]
  readonly unexpected: readonly string[]
  readonly isBlank: boolean
}

function compareSchema(database: Readable): Comparison {
  const version = Number(database.prepare('pragma user_version').get()?.['user_version'])
  const there = partsOf(database)
  const expected = expectedParts()
  const isChanged = ({ type, part, sql }: Part) =>
    // Between versions tables and indexes differ, but not their names.
    (version === SCHEMA_VERSION || type === 'trigger') && expected.get(part)?.sql !== sql
  return {
    missing: [...expected.values()].filter(({ part }) => !there.has(part)),
    unexpected: [...there.values()].flatMap((each) => {
      if (!expected.has(each.part)) return [`unknown ${each.part}`]
      return isChanged(each) ? [`${each.part} is not as forkhestra makes it`] : []
    }),
    isBlank: version === 0 && there.size === 0,
  }
}

let made: ReadonlyMap<string, Part> | undefined

function expectedParts(): ReadonlyMap<string, Part> {
  if (made !== undefined) return made
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(':memory:')
  try {
    database.exec(SCHEMA)
    made = partsOf(database)
    return made
  } finally {
    database.close()
  }
}

function partsOf(database: Readable): Map<string, Part> {
  const rows = database
    .prepare(
      `select type, name, sql from sqlite_schema where name not like 'sqlite\\_%' escape '\\'`,
    )
    .all()
  return new Map(
    rows.map(({ type, name, sql }) => {
      const part = `${String(type)} ${String(name)}`
      return [part, { type: String(type), part, sql: String(sql) }]
    }),
  )
}
