import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { change } from './change.ts'
import { placesAt } from './places.ts'
import { readState } from './state.ts'

test('a move that fails takes those before it back', () => {
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
  expect(move).toThrow('cannot be changed')
  expect(readdirSync(places.tasks).toSorted()).toEqual([
    '.local',
    'A.md',
    'B.md',
    'C.md',
    'archive',
  ])
  expect(readdirSync(places.archive)).toEqual([])
  expect(readState(places).moves).toEqual([])
  change(places, () => undefined)
  expect(readdirSync(places.local).filter((name) => name.startsWith('.unfinished'))).toEqual([])
  expect(readdirSync(places.archive)).toEqual([])
})
