import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { makeProject } from '../../support/project.ts'
import { parsePhases } from '../../../src/chain/parse/prompt/parse-phases.ts'
import { QueueClient } from '../../../src/queue/client.ts'
import { openSqliteStore } from '../../../src/queue/sqlite-store.ts'
import { setUp } from '../../../src/run/subagents/prompt-tasks.ts'

test('a setup that is repeated after an interruption starts no more than it reports', async () => {
  const store = await openSqliteStore(join(makeProject(), 'queue.db'))
  await store.openRun('r')
  const client = new QueueClient(store, 'r', 'main')
  const lines = ['a', 'b', 'c', 'd'].map((name) => `/push name=${name} x`)
  const phasesOf = (...starts: string[]) =>
    parsePhases([...lines, ...starts, 'Begin.'].join('\n'), 'the prompt')
  const first = await setUp(client, phasesOf('/run 1'), 'id')
  expect(first.started).toEqual(['a'])
  const whole = phasesOf('/run 1', '/run 1', '/run 1')
  expect((await setUp(client, whole, 'id')).started).toEqual(['a', 'b', 'c'])
  expect((await setUp(client, whole, 'id')).started).toEqual(['a', 'b', 'c'])
  expect((await store.list('r', { states: ['queued'] })).map(({ name }) => name)).toEqual(['d'])
  await store.close()
})
