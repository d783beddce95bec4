import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { change } from './change.ts'
import { placesAt } from './places.ts'
import { readLocalState } from './state.ts'

test('a failed move rolls back the moves before it', () => {
  const places = placesAt(makeProject())
  mkdirSync(places.archive, { recursive: true })
  for (const name of ['A.md', 'B.md', 'C.md']) writeFileSync(join(places.tasks, name), name)
  const move = () =>
    change(places, (draft) => {
      draft.write(join(places.tasks, 'D.md'), 'new')
      draft.move(join(places.tasks, 'A.md'), join(places.archive, 'A.md'))
      draft.move(join(places.tasks, 'B.md'), join(places.archive, 'missing/B.md'))
      draft.remove(join(places.tasks, 'C.md'))
    })
  expect(move).toThrow('Cannot change the tasks in')
  expect(readdirSync(places.tasks).toSorted()).toEqual([
    '.local',
    'A.md',
    'B.md',
    'C.md',
    'archive',
  ])
  expect(readdirSync(places.archive)).toEqual([])
  expect(readLocalState(places).moves).toEqual([])
  change(places, () => undefined)
  expect(readdirSync(places.local).filter((name) => name.startsWith('.unfinished'))).toEqual([])
  expect(readdirSync(places.archive)).toEqual([])
})
