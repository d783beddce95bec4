import type { DatabaseSync } from 'node:sqlite'
import { QueueError } from '../refusal.ts'
import { SCHEMA, SCHEMA_VERSION } from './schema.ts'

type Readable = Pick<DatabaseSync, 'prepare'>

/** Problems with the file itself, regardless of its content. */
export function findDamage(database: Readable): string[] {
  const lines = database.prepare('pragma integrity_check').all() as { integrity_check: string }[]
  const { missing, unexpected } = compareSchema(database)
  return [
    ...lines.map((line) => line.integrity_check).filter((line) => line !== 'ok'),
    ...missing.map((part) => `${part} is missing`),
    ...unexpected,
  ]
}

/**
 * Refuses missing tables, and anything in the schema that forkhestra did not create: a foreign trigger or
 * view could run forever. A missing index or trigger is only reported by `findDamage`.
 */
export function refuseAltered(database: Readable, place: string): void {
  const { missing, unexpected, isBlank } = compareSchema(database)
  // Another process is creating it.
  if (isBlank) return
  const table = missing.find((part) => part.startsWith('table '))
  const detail = table === undefined ? unexpected[0] : `${table} is missing`
  if (detail !== undefined) throw new QueueError({ kind: 'altered', place, detail })
}

function compareSchema(database: Readable) {
  const version = Number(database.prepare('pragma user_version').get()?.['user_version'])
  const found = partsOf(database)
  const expected = (expectedParts ??= makeExpectedParts())
  const isChanged = (part: string, sql: string) =>
    // Tables and indexes of an older version have the same names, but other definitions.
    (version === SCHEMA_VERSION || part.startsWith('trigger ')) && expected.get(part) !== sql
  return {
    missing: [...expected.keys()].filter((part) => !found.has(part)),
    unexpected: [...found].flatMap(([part, sql]) => {
      if (!expected.has(part)) return [`unknown ${part}`]
      return isChanged(part, sql) ? [`${part} is not as forkhestra makes it`] : []
    }),
    isBlank: version === 0 && found.size === 0,
  }
}

let expectedParts: ReadonlyMap<string, string> | undefined

function makeExpectedParts(): ReadonlyMap<string, string> {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(':memory:')
  try {
    database.exec(SCHEMA)
    return partsOf(database)
  } finally {
    database.close()
  }
}

/** The SQL of each table, index and trigger, such as `table task`. */
function partsOf(database: Readable): Map<string, string> {
  const rows = database
    .prepare(
      `select type || ' ' || name as part, sql from sqlite_schema
       where name not like 'sqlite\\_%' escape '\\'`,
    )
    .all()
  return new Map(rows.map(({ part, sql }) => [String(part), String(sql)]))
}
