import { openLibc } from './libc.ts'

/** Keeps the length of a file as it is. */
const KEEP_SIZE = 1

const SYMBOLS = { fallocate: { args: ['i32', 'i32', 'i64', 'i64'], returns: 'i32' } } as const

let opened: { readonly symbols: ReturnType<typeof open> } | undefined
const open = () => (process.platform === 'linux' ? openLibc(SYMBOLS) : undefined)

/**
 * Sets space of the disk aside for the bytes of a file from one place to another, so that they can be
 * written when the disk is full. Where the system cannot, nothing happens.
 */
export function reserve(fd: number, from: number, to: number): void {
  const { symbols } = (opened ??= { symbols: open() })
  symbols?.fallocate(fd, KEEP_SIZE, BigInt(from), BigInt(to - from))
}
