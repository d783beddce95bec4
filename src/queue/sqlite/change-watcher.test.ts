import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeProject } from '../../../tests/support/project.ts'
import { openSqliteStore } from '../sqlite-store.ts'

test('a waiting store notices what another connection has written', async () => {
  const place = join(makeProject(), 'queue.db')
  const store = await openSqliteStore(place)
  await store.openRun('r')
  const mark = await store.mark()
  const woken = store.wait('r', mark)
  const db = new DatabaseSync(place)
  db.exec(`insert into history (at, run, what, subject, attempt, detail)
    values (0, 'r', 'main', '', 0, '')`)
  db.close()
  expect(await woken).not.toBe(mark)
  await store.close()
})
