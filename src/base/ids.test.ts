import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { makeRunId, makeRunIdAfter, randomLetters } from './ids.ts'

test('random letters are as many as asked for, and none that is easily confused', () => {
  expect(randomLetters(0)).toBe('')
  expect(randomLetters(2000)).toMatch(/^[a-z2-9]{2000}$/)
  expect(randomLetters(2000)).not.toMatch(/[ilou01]/)
  expect(new Set(randomLetters(5000)).size).toBe(30)
})

test('a run id begins with the time in UTC', () => {
  const id = makeRunId(new Date('2026-03-04T05:06:07.089Z'))
  expect(id).toMatch(/^20260304-050607-[a-z2-9]{6}$/)
})

test('run ids sort by time', () => {
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
  // Two milliseconds apart, ids differ in their letters within the same second.
  const laterBy = fc.oneof(fc.integer({ min: 2, max: 2000 }), fc.integer({ min: 2, max: 1e12 }))
  fc.assert(
    fc.property(time, laterBy, (at, by) => makeRunId(new Date(at)) < makeRunId(new Date(at + by))),
  )
})

test('a run id sorts after that of the run before, whatever the clock says', () => {
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
  fc.assert(
    fc.property(time, time, (before, now) => {
      const earlier = makeRunId(new Date(before))
      const id = makeRunIdAfter(earlier, new Date(now))
      expect(id > earlier).toBe(true)
      if (now > before + 2) expect(id.slice(0, 17)).toBe(makeRunId(new Date(now)).slice(0, 17))
    }),
  )
  for (const name of [undefined, 'zzz', '99999999-999999-zz'])
    expect(makeRunIdAfter(name, new Date(0))).toStartWith('19700101-000000-')
})
