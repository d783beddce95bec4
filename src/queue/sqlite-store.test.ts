import { describe, expect, test } from 'bun:test'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import type { StoreKind } from '../../tests/contract/queue/store-kind.ts'
import { openOldStore } from '../../tests/contract/queue/old-sqlite.ts'
import { testMessages } from '../../tests/contract/queue/messages.ts'
import { testProcesses } from '../../tests/contract/queue/processes.ts'
import { DONE, newMessage, RUN, TestStore } from '../../tests/contract/queue/test-store.ts'
import { testTasks } from '../../tests/contract/queue/tasks.ts'
import { testConcurrency } from '../../tests/contract/queue/concurrency.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { testStore } from '../../tests/contract/queue/store-contract.ts'

const SQLITE: StoreKind = {
  module: join(import.meta.dir, 'sqlite-store.ts'),
  opener: openSqliteStore.name,
  open: openSqliteStore,
  makePlace: () => join(makeProject(), 'queue.db'),
}

testStore('SQLite', SQLITE)

describe('SQLite without a write-ahead log', () => {
  const old: StoreKind = {
    ...SQLITE,
    module: join(import.meta.dir, '../../tests/contract/queue/old-sqlite.ts'),
    opener: 'openOldStore',
    open: openOldStore,
  }
  testTasks(old)
  testConcurrency(old)
  testMessages(old)
  testProcesses(old)
})

/** Changes the database without the store. */
function tamper(place: string, sql: string): void {
  const db = new DatabaseSync(place)
  db.exec(`drop trigger history_is_not_changed; drop trigger history_is_not_cut; ${sql}`)
  db.close()
}

/** Tasks and messages in every state. */
async function makeUsedStore(): Promise<TestStore> {
  const fixture = await TestStore.open(SQLITE)
  const { store } = fixture
  await store.settle(await fixture.begin('main', 'read'), DONE)
  await store.ack(await store.lease(RUN, 'main', {}, 'r1'))
  await store.settle(await fixture.begin('main', 'unread'), DONE)
  await fixture.begin('main', 'busy')
  await fixture.push('main', ['later'])
  await store.send(newMessage('busy', 'main', 'hello'))
  await store.lease(RUN, 'main', { from: ['busy'] }, 'r1')
  expect(await store.verify(RUN)).toEqual([])
  return fixture
}

test.each([
  ['a deleted task', `delete from task where name = 'later'`],
  ['a deleted message', `delete from message where sender = 'unread'`],
  [
    'an end without a result message',
    `delete from history where what = 'sent' and subject like '%unread%'`,
  ],
  ['a task with an earlier state', `update task set state = 'ready' where name = 'read'`],
  ['an additional attempt', `update task set attempt = 2 where name = 'busy'`],
  ['a lease without a worker', `update task set worker = null where name = 'busy'`],
  ['a leased message without a reader', `update message set reader = null where sender = 'busy'`],
  ['a history with a missing entry', `delete from history where what = 'main'`],
  [
    'an acknowledged message that exists',
    `insert into message (id, run, recipient, sender, body, at)
     select subject, run, 'run-1.main', 'read', '', 0 from history where what = 'acked'`,
  ],
  [
    'a second acknowledgement',
    `drop index history_once; insert into history (at, run, what, subject, attempt, detail)
     select at, run, what, subject, attempt, detail from history where what = 'acked'`,
  ],
])('verify finds %s', async (_, sql) => {
  const fixture = await makeUsedStore()
  tamper(fixture.place, sql)
  expect(await fixture.store.verify(RUN)).not.toEqual([])
  await fixture.store.close()
})

test('the history can only be appended to', async () => {
  const fixture = await makeUsedStore()
  const db = new DatabaseSync(fixture.place)
  expect(() => db.exec(`update history set what = 'main'`)).toThrow('only appended')
  expect(() => db.exec('delete from history')).toThrow('only appended')
  db.close()
  await fixture.close()
})
