import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { TaskDatabase } from './database.ts'

test('every method renews the claims of its owner, even if it only reads', () => {
  const cwd = makeProject({ 'forge/tasks/.keep': '' })
  const tasks = new TaskDatabase({ cwd, as: 'a', env: {} })
  const id = tasks.create({ title: 'One' })
  const path = join(tasks.folder, '.local/state.json')
  const until = () => /"until":"([^"]*)"/.exec(readFileSync(path, 'utf8'))![1]!
  tasks.claim(id)
  const soon = new Date(Date.now() + 60_000).toISOString()
  for (const look of [
    () => tasks.list(),
    () => tasks.ready(),
    () => tasks.explain(),
    () => tasks.next(),
    () => tasks.view(id),
    () => tasks.search(['One']),
    () => tasks.stats(),
    () => tasks.doctor(),
    () => tasks.create({ title: 'Another' }),
  ]) {
    writeFileSync(path, readFileSync(path, 'utf8').replace(until(), soon))
    look()
    expect([String(look), until() > soon]).toEqual([String(look), true])
  }
})

test('an empty name is refused', () => {
  const cwd = makeProject()
  expect(() => new TaskDatabase({ cwd, as: '', env: {} })).toThrow(
    'The name given with --as is empty.',
  )
})

test('a task that another owner holds is not deleted', () => {
  const cwd = makeProject({ 'forge/tasks/.keep': '' })
  const [mine, other] = ['a', 'b'].map((as) => new TaskDatabase({ cwd, as, env: {} })) as [
    TaskDatabase,
    TaskDatabase,
  ]
  const id = mine.create({ title: 'One' })
  mine.claim(id)
  expect(() => other.delete(id, { force: true })).toThrow(expect.objectContaining({ exitCode: 3 }))
  expect(existsSync(join(mine.folder, 'TASK-001 - One.md'))).toBe(true)
  expect(mine.delete(id)).toBe(id)
})
