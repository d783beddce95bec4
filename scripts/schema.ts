import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { eventSchema } from '../src/records/events/schema.ts'
import { makeChainsSchema } from '../src/chain/parse/chains-schema.ts'

// Generates the JSON Schemas for editors and scripts from the schemas of the program. `--check` writes
// nothing and fails if a file is out of date.

const folder = join(import.meta.dir, '../schema')
const files = {
  'chains.schema.json': { title: 'forkhestra chains.json', ...z.toJSONSchema(makeChainsSchema()) },
  'events.schema.json': {
    title: 'forkhestra run event',
    ...z.toJSONSchema(eventSchema, { io: 'input' }),
  },
}

mkdirSync(folder, { recursive: true })
for (const [name, schema] of Object.entries(files)) {
  const path = join(folder, name)
  const text = `${JSON.stringify(schema, null, 2)}\n`
  if (!process.argv.includes('--check')) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`schema/${name} is out of date. Run: npm run schema`)
    process.exitCode = 1
  }
}
