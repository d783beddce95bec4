import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { refusalOf } from '../../../tests/contract/queue/test-store.ts'
import { openSqliteStore } from '../sqlite-store.ts'

const RUN = 'run-1'
const TASKS = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
  id: name,
  run: RUN,
  parent: 'main',
  name,
  prompt: '',
}))

/** In the write-ahead log, only the last page of a commit has the size of the database. */
function commitsIn(path: string): number {
  const log = readFileSync(`${path}-wal`)
  const pageBytes = log.readUInt32BE(8)
  let commits = 0
  for (let frame = 32; frame < log.length; frame += 24 + pageBytes) {
    if (log.readUInt32BE(frame + 4) > 0) commits += 1
  }
  return commits
}

async function openStore(): Promise<{ path: string; store: Awaited<ReturnType<typeof open>> }> {
  const path = join(makeProject(), 'queue.db')
  const store = await open(path)
  await store.openRun(RUN)
  return { path, store }
}

const open = (path: string) => openSqliteStore(path, { journal: 'wal' })

test('concurrent writes share one commit, and sequential writes have one each', async () => {
  const { path, store } = await openStore()
  const before = commitsIn(path)
  await Promise.all(TASKS.slice(0, 3).map((task) => store.push([task])))
  expect(commitsIn(path) - before).toBe(1)
  for (const task of TASKS.slice(3)) await store.push([task])
  expect(commitsIn(path) - before).toBe(3)
  await store.close()
})

test('no call resolves before the shared commit', async () => {
  const { path, store } = await openStore()
  const before = commitsIn(path)
  const commits = await Promise.all(
    TASKS.map((task) => store.push([task]).then(() => commitsIn(path) - before)),
  )
  expect(commits).toEqual(TASKS.map(() => 1))
  expect((await store.list(RUN)).map(({ name }) => name)).toEqual(TASKS.map(({ name }) => name))
  await store.close()
})

test('a refused write does not affect the others', async () => {
  const { path, store } = await openStore()
  const [first, ...others] = TASKS
  await store.push([first!])
  const before = commitsIn(path)
  const again = store.push([{ ...first!, id: 'another' }])
  const pushed = others.map((task) => store.push([task]))
  expect((await refusalOf(again)).kind).toBe('name_taken')
  await Promise.all(pushed)
  expect(commitsIn(path) - before).toBe(others.length)
  expect((await store.list(RUN)).length).toBe(TASKS.length)
  await store.close()
})
