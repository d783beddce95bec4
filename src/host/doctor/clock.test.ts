import { expect, test } from 'bun:test'
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { checkClock } from './surroundings.ts'

const NOW = Date.UTC(2027, 4, 6, 7, 8)

test.each([
  ['a clock that was never set', 0, 'problem'],
  ['the year before', Date.UTC(2025, 11, 31), 'problem'],
  ['today', NOW, 'ok'],
  ['a far future', Date.UTC(2101, 0), 'problem'],
] as const)('%s is told as it is', (_, now, state) => {
  expect(checkClock(now, [], undefined)).toMatchObject({ name: 'clock', state })
})

test.each([
  [0, 'ok'],
  [60, 'ok'],
  [7200, 'warning'],
] as const)('a file that is %d seconds newer than now: %s', (seconds, state) => {
  const path = join(makeProject({ file: '' }), 'file')
  utimesSync(path, NOW / 1000 + seconds, NOW / 1000 + seconds)
  const check = checkClock(NOW, ['/no/such/file', path], undefined)
  expect(check.state).toBe(state)
  if (state === 'warning') expect(check.text).toContain(`${path} was changed 2 h later`)
})

test.each([
  [undefined, 'ok'],
  ['', 'ok'],
  ['Europe/Vilnius', 'ok'],
  [':UTC', 'ok'],
  ['Middle/Earth', 'warning'],
  ['/etc/localtime', 'warning'],
] as const)('of the time zone %p it says %s', (zone, state) => {
  expect(checkClock(NOW, [], zone).state).toBe(state)
})
