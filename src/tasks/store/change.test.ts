import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { change } from './change.ts'
import { taskFoldersAt } from '../folders.ts'
import { readLocalState } from './state.ts'

test('a failed move rolls back the moves before it', () => {
  const folders = taskFoldersAt(makeProject())
  mkdirSync(folders.archive, { recursive: true })
  for (const name of ['A.md', 'B.md', 'C.md']) writeFileSync(join(folders.tasks, name), name)
  const move = () =>
    change(folders, (draft) => {
      draft.write(join(folders.tasks, 'D.md'), 'new')
      draft.move(join(folders.tasks, 'A.md'), join(folders.archive, 'A.md'))
      draft.move(join(folders.tasks, 'B.md'), join(folders.archive, 'missing/B.md'))
      draft.remove(join(folders.tasks, 'C.md'))
    })
  expect(move).toThrow('Cannot change the tasks in')
  expect(readdirSync(folders.tasks).toSorted()).toEqual([
    '.local',
    'A.md',
    'B.md',
    'C.md',
    'archive',
  ])
  expect(readdirSync(folders.archive)).toEqual([])
  expect(readLocalState(folders).moves).toEqual([])
  change(folders, () => undefined)
  expect(readdirSync(folders.local).filter((name) => name.startsWith('.unfinished'))).toEqual([])
  expect(readdirSync(folders.archive)).toEqual([])
})
