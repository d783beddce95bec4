import type { DatabaseSync } from 'node:sqlite'
import { SCHEMA } from './schema.ts'

type Readable = Pick<DatabaseSync, 'prepare'>

/** What is wrong with the file itself, whatever it says of tasks and messages. */
export function damageOf(database: Readable): string[] {
  const lines = database.prepare('pragma integrity_check').all() as { integrity_check: string }[]
  const there = new Set(partsOf(database))
  return [
    ...lines.map((line) => line.integrity_check).filter((line) => line !== 'ok'),
    ...expectedParts().flatMap((part) => (there.has(part) ? [] : [`${part} is missing`])),
  ]
}

function expectedParts(): string[] {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(':memory:')
  try {
    database.exec(SCHEMA)
    return partsOf(database)
  } finally {
    database.close()
  }
}

function partsOf(database: Readable): string[] {
  return database
    .prepare(
      `select type || ' ' || name as part from sqlite_schema where name not like 'sqlite_%' union all
       select 'column ' || made.name || '.' || field.name
       from sqlite_schema as made, pragma_table_info(made.name) as field where made.type = 'table'`,
    )
    .all()
    .map((row) => String(row['part']))
}
