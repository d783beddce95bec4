import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { makeProject } from '../../../tests/support/project.ts'
import { OutputLog } from './output-log.ts'

const MIB = 1024 * 1024
const HEAD = 4 * MIB
const TAIL = 4 * MIB

/** Bytes that encode their own offset. */
function numbered(size: number): Buffer {
  const bytes = Buffer.alloc(size + 8)
  for (let at = 0; at < size; at += 8) bytes.write(at.toString(16).padStart(7, '0') + '\n', at)
  return bytes.subarray(0, size)
}

const ALL = numbered(40 * MIB)

/** What the log keeps of so many bytes that come in chunks of these lengths, over and over. */
function keep(size: number, lengths: readonly number[]): Buffer {
  const folder = makeProject()
  const log = new OutputLog(folder, 'a.log')
  let at = 0
  for (let i = 0; at < size; i++) {
    const length = Math.min(lengths[i % lengths.length]!, size - at)
    expect(log.write(ALL.subarray(at, at + length))).toBe(at)
    at += length
  }
  expect(log.size).toBe(size)
  log.close()
  expect(readdirSync(folder)).toEqual(['a.log'])
  return readFileSync(join(folder, 'a.log'))
}

function expected(size: number): Buffer {
  const left = size - HEAD - TAIL
  if (left <= 0) return ALL.subarray(0, size)
  return Buffer.concat([
    ALL.subarray(0, HEAD),
    Buffer.from(`\n[forkhestra] ${left} bytes left out here\n`),
    ALL.subarray(size - TAIL, size),
  ])
}

test.each([
  ['nothing', 0, [1]],
  ['a little', 100, [7]],
  ['exactly the head, at once', HEAD, [HEAD]],
  ['exactly the head, in pieces', HEAD, [64 * 1024]],
  ['one byte more than the head', HEAD + 1, [64 * 1024 + 1]],
  ['exactly head and tail', HEAD + TAIL, [MIB]],
  ['exactly head and tail, at once', HEAD + TAIL, [HEAD + TAIL]],
  ['one byte more than head and tail', HEAD + TAIL + 1, [MIB]],
  ['one byte more than head and tail, at once', HEAD + TAIL + 1, [HEAD + TAIL + 1]],
  ['much, in pieces', 39 * MIB, [100_003]],
  ['much, at once', 40 * MIB, [40 * MIB]],
  ['much, with a huge piece amid small ones', 30 * MIB, [3, 10 * MIB, 65_536]],
])('%s is kept: head, tail, and the count between them', (_, size, lengths) => {
  expect(keep(size, lengths).equals(expected(size))).toBe(true)
})

test('the size of chunks does not change what is kept', () => {
  const size = fc.integer({ min: 0, max: 20 * MIB })
  const lengths = fc.array(fc.integer({ min: 5000, max: 6 * MIB }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(size, lengths, (bytes, cuts) => keep(bytes, cuts).equals(expected(bytes))),
    { numRuns: 10 },
  )
})

test('a log has a limited size while it is written', () => {
  const folder = makeProject()
  const log = new OutputLog(folder, 'a.log')
  for (let at = 0; at < 40 * MIB; at += MIB) {
    log.write(ALL.subarray(at, at + MIB))
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(HEAD + 2 * TAIL)
  }
  log.close()
})

test('only its owner can read a log', () => {
  const path = join(makeProject(), 'a.log')
  new OutputLog(dirname(path), basename(path)).close()
  expect(statSync(path).mode & 0o777).toBe(0o600)
})
