import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Needles, type Needle } from './needles.ts'

const text = fc
  .uint8Array({ minLength: 3, maxLength: 40 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'))
const needle = fc.record({ text, back: fc.nat(40) })

test('every needle is found, with all that it may belong to, and nothing else is', () => {
  const many = fc.array(needle, { minLength: 1, maxLength: 400 })
  fc.assert(
    fc.property(many, fc.uint8Array({ maxLength: 200 }), fc.nat(3), (all, noise, begin) => {
      const [first] = all as [Needle]
      const planted = Buffer.from(first.text, 'latin1')
      const hay = Buffer.concat([noise, planted, noise]).subarray(Math.min(begin, noise.length))
      const needles = new Needles(all)
      const begins: number[] = []
      for (let pair = needles.next(hay, 0); pair !== -1; pair = needles.next(hay, pair + 1)) {
        const back = needles.backFrom(hay, pair)
        expect(back).toBeLessThanOrEqual(needles.farthest)
        begins.push(pair - back)
      }
      expect(Math.min(...begins)).toBeLessThanOrEqual(hay.indexOf(planted) - first.back)
      const absent = all.filter((each) => !Buffer.from(noise).includes(each.text, 0, 'latin1'))
      expect(new Needles(absent).next(noise, 0)).toBe(-1)
    }),
  )
})
