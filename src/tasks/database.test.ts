import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { UserError } from '../base/errors.ts'
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

test.each([
  [{ title: 'x', priority: 'urgent' }, "Unknown priority 'urgent'."],
  [{ title: 'x', status: 'dine' }, "Unknown status 'dine' (did you mean 'done'?)"],
  [{ titel: 'x' }, "Unknown field 'titel' (did you mean 'title'?)"],
  [{}, 'The title is empty.'],
  [{ title: 5 }, "'title' must be a string."],
  [{ title: 'x', labels: 'a' }, "'labels' must be a list of strings."],
  [{ title: 'x', criteria: [null] }, "'criteria' must be a list of strings."],
])('a new task from a program that is not type-checked is refused: %p', (task, message) => {
  const cwd = makeProject({ 'forge/tasks/.keep': '' })
  const tasks = new TaskDatabase({ cwd, as: 'me', env: {} })
  const error = catchError(() => tasks.create(task as never))
  expect(error).toBeInstanceOf(UserError)
  expect(error).toMatchObject({ message })
  expect(tasks.list()).toMatchObject({ tasks: [], broken: [] })
})

test.each([
  [{ status: 'finished' }, "Unknown status 'finished'."],
  [{ priority: 'hihg' }, "Unknown priority 'hihg' (did you mean 'high'?)"],
  [{ checkCriteria: 1 }, "'checkCriteria' must be a list of numbers."],
  [{ labels: ['a'] }, /^Unknown field 'labels'/],
])('a change by a program that is not type-checked is refused: %p', (changes, message) => {
  const cwd = makeProject({ 'forge/tasks/.keep': '' })
  const tasks = new TaskDatabase({ cwd, as: 'me', env: {} })
  tasks.create({ title: 'One' })
  const error = catchError(() => tasks.edit('1', changes as never))
  expect(error).toBeInstanceOf(UserError)
  expect((error as UserError).message).toMatch(message)
})

test('status and priority may be written as on the command line', () => {
  const cwd = makeProject({ 'forge/tasks/.keep': '' })
  const tasks = new TaskDatabase({ cwd, as: 'me', env: {} })
  tasks.create({ title: 'One', status: 'in-progress', priority: 'HIGH' } as never)
  expect(tasks.list().tasks).toMatchObject([{ status: 'In Progress', priority: 'high' }])
})

function catchError(work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}

test('a task is not done while another file has its id', async () => {
  const done =
    '---\nid: TASK-001\ntitle: x\nstatus: Done\ncreatedAt: 1970-01-01T00:00:00.000Z\n---\n'
  const cwd = makeProject({ 'forge/tasks/.keep': '' })
  const tasks = new TaskDatabase({ cwd, as: 'me', env: {} })
  tasks.create({ title: 'One', criteria: ['Tested'] })
  writeFileSync(join(tasks.folder, 'TASK-001 - aaa.md'), done)
  expect((await tasks.forRun()).find('1').missing).toBe(
    'another file of TASK-001 cannot be read; see: forge-tasks doctor',
  )
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
