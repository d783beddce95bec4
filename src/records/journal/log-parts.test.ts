import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { HEAD_BYTES, joinTails, readLog, TAIL_BYTES, tailPath } from './log-parts.ts'
import { OutputLog } from './output-log.ts'

const MIB = 1024 * 1024

/** Bytes that encode their own offset. */
const ALL = (() => {
  const bytes = Buffer.alloc(24 * MIB)
  for (let at = 0; at < bytes.length; at += 8) {
    bytes.write(at.toString(16).padStart(7, '0') + '\n', at)
  }
  return bytes
})()

/** A log of so many bytes whose writer died, or closed it. */
function write(size: number, end: 'close' | 'abandon'): string {
  const path = join(makeProject(), 'a.log')
  const log = new OutputLog(dirname(path), basename(path))
  for (let at = 0; at < size; at += MIB) log.write(ALL.subarray(at, Math.min(size, at + MIB)))
  log[end]()
  return path
}

const namesBeside = (path: string) => readdirSync(join(path, '..'))

/** What should be kept of a stretch of the output, where the newest bytes from `tail` on are. */
function kept(offset: number, length: number, tail: number): Uint8Array | undefined {
  const head = ALL.subarray(offset, Math.min(offset + length, HEAD_BYTES))
  const end = ALL.subarray(Math.max(offset, tail), Math.max(tail, offset + length))
  const all =
    tail <= HEAD_BYTES ? ALL.subarray(offset, offset + length) : Buffer.concat([head, end])
  return all.length === 0 ? undefined : all
}

const STRETCHES = [0, 100, HEAD_BYTES - 10, HEAD_BYTES, HEAD_BYTES + 5, 7 * MIB, 15 * MIB, 19 * MIB]

describe.each([100, HEAD_BYTES, HEAD_BYTES + 1, HEAD_BYTES + TAIL_BYTES, 20 * MIB])(
  'of %d bytes',
  (size) => {
    const tail = Math.max(HEAD_BYTES, size - TAIL_BYTES)
    const within = STRETCHES.filter((offset) => offset < size)

    test('kept output is found by its original offset', () => {
      const path = write(size, 'close')
      for (const offset of within) {
        const length = Math.min(2 * MIB, size - offset)
        const expected = kept(offset, length, tail)
        expect(readLog(path, offset, length)).toEqual(expected && Buffer.from(expected))
      }
    })

    test('it is also found while the log is written, and after its writer was killed', () => {
      const path = write(size, 'abandon')
      for (const offset of within.filter((at) => at < HEAD_BYTES || at >= tail)) {
        const end = offset < HEAD_BYTES && tail > HEAD_BYTES ? HEAD_BYTES : size
        const length = Math.min(2 * MIB, end - offset)
        expect(readLog(path, offset, length)).toEqual(ALL.subarray(offset, offset + length))
      }
    })

    test('the parts of a killed writer can be joined', () => {
      const path = write(size, 'abandon')
      joinTails(path)
      joinTails(path)
      expect(namesBeside(path)).toEqual(['a.log'])
      expect(readFileSync(path).equals(readFileSync(write(size, 'close')))).toBe(true)
    })
  },
)

describe('joining that was itself cut off', () => {
  const SIZE = 20 * MIB
  const whole = () => readFileSync(write(SIZE, 'close'))

  test('in the middle is done again', () => {
    const path = write(SIZE, 'abandon')
    const expected = whole()
    writeFileSync(path, expected.subarray(0, HEAD_BYTES + MIB))
    expect(readLog(path, SIZE - MIB, MIB)).toEqual(ALL.subarray(SIZE - MIB, SIZE))
    joinTails(path)
    expect(readFileSync(path).equals(expected)).toBe(true)
  })

  test('while it cleaned up is not repeated with half of the parts', () => {
    const path = write(SIZE, 'close')
    const expected = readFileSync(path)
    writeFileSync(tailPath(path, SIZE - 10), ALL.subarray(SIZE - 10, SIZE))
    expect(readLog(path, SIZE - MIB, MIB)).toEqual(ALL.subarray(SIZE - MIB, SIZE))
    joinTails(path)
    expect(readFileSync(path).equals(expected)).toBe(true)
    expect(namesBeside(path)).toEqual(['a.log'])
  })
})

test('bytes lost in a power failure are zeros, and all others keep their offset', () => {
  const size = 20 * MIB
  const path = write(size, 'abandon')
  const tails = namesBeside(path).filter((name) => name.includes('.tail-'))
  const [older, newer] = tails.toSorted((a, b) => Number(a.split('-')[1]) - Number(b.split('-')[1]))
  truncateSync(path, MIB)
  truncateSync(join(path, '..', older!), 0)
  joinTails(path)
  const from = Number(newer!.split('-')[1])
  expect(readLog(path, 0, MIB)).toEqual(ALL.subarray(0, MIB))
  expect(readLog(path, MIB, 4)).toEqual(Buffer.alloc(4))
  expect(readLog(path, from, size - from)).toEqual(ALL.subarray(from, size))
  expect(statSync(path).size).toBeGreaterThan(HEAD_BYTES + TAIL_BYTES)
})

test('a notice that an agent prints at that offset is ignored', () => {
  const path = join(makeProject(), 'a.log')
  const log = new OutputLog(dirname(path), basename(path))
  const notice = Buffer.from('\n[forkhestra] 77 bytes left out here\n')
  log.write(ALL.subarray(0, HEAD_BYTES))
  log.write(notice)
  log.write(Buffer.from('the end'))
  log.close()
  expect(readLog(path, HEAD_BYTES + notice.length, 7)).toEqual(Buffer.from('the end'))
})

test('a missing log has no output', () => {
  expect(readLog(join(makeProject(), 'a.log'), 0, 5)).toBeUndefined()
})
