import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { makeRunId, randomLetters } from './ids.ts'

test('random letters are as many as asked for, and none that is easily confused', () => {
  expect(randomLetters(0)).toBe('')
  expect(randomLetters(2000)).toMatch(/^[a-z2-9]{2000}$/)
  expect(randomLetters(2000)).not.toMatch(/[ilou01]/)
  expect(new Set(randomLetters(5000)).size).toBe(30)
})

test('a run id begins with the time in UTC', () => {
  const id = makeRunId(new Date('2026-03-04T05:06:07.089Z'))
  expect(id).toMatch(/^20260304-050607-[a-z2-9]{5}$/)
})

test('run ids sort by time, second by second', () => {
  const second = fc.integer({ min: 0, max: 4_000_000_000 })
  fc.assert(
    fc.property(second, second, (a, b) => {
      fc.pre(a < b)
      return makeRunId(new Date(a * 1000)) < makeRunId(new Date(b * 1000))
    }),
  )
})
