import { expect, test } from 'bun:test'
import { constant, array, assert, oneof, property, stringMatching } from 'fast-check'
import { posix } from 'node:path'
import * as quick from './path.ts'

const part = oneof(constant('.'), constant('..'), constant(''), stringMatching(/^[a-z. é]{1,4}$/))
const path = array(oneof(part, constant('/')), { maxLength: 7 }).map((parts) => parts.join('/'))

test('says of every path what node:path says', () => {
  assert(
    property(path, path, path, (a, b, c) => {
      expect(quick.join(a, b, c)).toBe(posix.join(a, b, c))
      expect(quick.join(a)).toBe(posix.join(a))
      expect(quick.resolve(a, b, c)).toBe(posix.resolve(a, b, c))
      expect(quick.resolve(a)).toBe(posix.resolve(a))
      expect(quick.dirname(a)).toBe(posix.dirname(a))
      expect(quick.basename(a)).toBe(posix.basename(a))
      expect(quick.isAbsolute(a)).toBe(posix.isAbsolute(a))
      expect(quick.relative(a, b)).toBe(posix.relative(a, b))
    }),
    { numRuns: 2_000 },
  )
})
