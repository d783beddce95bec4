import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { NEAR, Needles } from './needles.ts'

const word = fc.uint8Array({ minLength: 3, maxLength: 40 })

test('every needle is found near its beginning, and nothing else is', () => {
  const many = fc.array(word, { minLength: 1, maxLength: 400 })
  fc.assert(
    fc.property(many, fc.uint8Array({ maxLength: 200 }), fc.nat(3), (all, noise, begin) => {
      const [needle, ...others] = all
      const hay = Buffer.concat([noise, needle!, noise]).subarray(Math.min(begin, noise.length))
      const first = Math.min(...all.map((each) => hay.indexOf(each)).filter((at) => at !== -1))
      const found = new Needles(all).next(hay, 0)
      expect(found).toBeGreaterThanOrEqual(first)
      expect(found).toBeLessThan(hay.indexOf(needle!) + NEAR)
      const isThere = others.some((each) => hay.includes(each))
      if (!isThere) expect(new Needles([needle!]).next(hay, 0)).toBe(found)
      const absent = all.filter((each) => !noise.join().includes(each.join()))
      expect(new Needles(absent).next(noise, 0)).toBe(-1)
    }),
  )
})
