import { expect, test } from 'bun:test'
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { decodeIds, decodeIndex } from './index-format.ts'
import { placesAt } from './places.ts'
import { scanTasks } from './scan.ts'

function makeTasks(): ReturnType<typeof placesAt> {
  const tasks = Array.from({ length: 20 }, (_, at) => {
    const id = `TASK-${String(at + 1).padStart(3, '0')}`
    const text = `---\nid: ${id}\ntitle: Title ${at}\nstatus: To Do\ndependencies: []\n---\n`
    return [`forge/tasks/${id} - Title.md`, text] as const
  })
  const places = placesAt(makeProject(Object.fromEntries(tasks)))
  for (const [name] of tasks) utimesSync(join(places.root, name), 1e9, 1e9)
  return places
}

test('an index with one flipped bit counts as missing, and is written again', () => {
  const places = makeTasks()
  const before = scanTasks(places).tasks.map(({ id, title, status }) => ({ id, title, status }))
  const path = join(places.own, 'index')
  const whole = readFileSync(path)
  expect(decodeIndex(whole)).toBeDefined()
  for (let bit = 0; bit < whole.length * 8; bit += 37) {
    const flipped = Buffer.from(whole)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    expect(decodeIndex(flipped)).toBeUndefined()
    expect(decodeIds(flipped)).toBeUndefined()
  }
  expect(decodeIndex(whole.subarray(0, 20))).toBeUndefined()
  const flipped = Buffer.from(whole)
  flipped[whole.length - 100]! ^= 4
  writeFileSync(path, flipped)
  const after = scanTasks(places).tasks.map(({ id, title, status }) => ({ id, title, status }))
  expect(after).toEqual(before)
  expect(decodeIndex(readFileSync(path))).toBeDefined()
  expect(statSync(path).size).toBe(whole.length)
})
