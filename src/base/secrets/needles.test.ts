import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Needles, startAt, type Needle } from './needles.ts'

function hitsIn(needles: Needles, bytes: Uint8Array) {
  const hits = []
  let hit = needles.next(bytes, startAt(0))
  for (; hit !== undefined; hit = needles.next(bytes, hit)) hits.push(hit)
  return hits
}

const text = fc
  .uint8Array({ minLength: 3, maxLength: 40 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'))
const needle = fc.record({ text, back: fc.nat(40) })

test('every needle is found with its reach, and nothing else', () => {
  const many = fc.array(needle, { minLength: 1, maxLength: 400 })
  fc.assert(
    fc.property(many, fc.uint8Array({ maxLength: 200 }), fc.nat(3), (all, noise, begin) => {
      const [first] = all as [Needle]
      const planted = Buffer.from(first.text, 'latin1')
      const hay = Buffer.concat([noise, planted, noise]).subarray(Math.min(begin, noise.length))
      const needles = new Needles(all)
      const hits = hitsIn(needles, hay)
      for (const { reach } of hits) expect(reach).toBeLessThanOrEqual(needles.farthest)
      const place = hay.indexOf(planted)
      const hit = hits.find(({ end }) => end === place + planted.length)
      expect(hit?.reach).toBeGreaterThanOrEqual(planted.length + first.back)
      const absent = all.filter((each) => !Buffer.from(noise).includes(each.text, 0, 'latin1'))
      expect(hitsIn(new Needles(absent), noise)).toEqual([])
    }),
  )
})
