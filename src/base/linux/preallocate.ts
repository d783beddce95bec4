import { lazyLinuxLibc } from './libc.ts'

/** FALLOC_FL_KEEP_SIZE: the length of the file does not change. */
const KEEP_SIZE = 1

const SYMBOLS = { fallocate: { args: ['i32', 'i32', 'i64', 'i64'], returns: 'i32' } } as const

const libc = lazyLinuxLibc(SYMBOLS)

/** Reserves disk space for a range of a file, so that it can be written when the disk is full (Linux). */
export function reserve(fd: number, from: number, to: number): void {
  libc()?.fallocate(fd, KEEP_SIZE, BigInt(from), BigInt(to - from))
}
