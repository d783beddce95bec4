import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { TaskDatabase } from './database.ts'

test('what another one holds is not deleted', () => {
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
