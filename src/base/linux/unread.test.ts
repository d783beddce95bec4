import { expect, test } from 'bun:test'
import { ptr } from 'bun:ffi'
import { openLibc } from './libc.ts'
import { readPipeState } from './unread.ts'

const libc = openLibc({
  socketpair: { args: ['i32', 'i32', 'i32', 'ptr'], returns: 'i32' },
  pipe: { args: ['ptr'], returns: 'i32' },
  write: { args: ['i32', 'ptr', 'u64'], returns: 'i64' },
  read: { args: ['i32', 'ptr', 'u64'], returns: 'i64' },
  close: { args: ['i32'], returns: 'i32' },
})!

const AF_UNIX = 1
const SOCK_STREAM = 1

/** Two ends: bytes written to the first can be read from the second. */
function makeSockets(): [number, number] {
  const ends = new Int32Array(2)
  expect(libc.socketpair(AF_UNIX, SOCK_STREAM, 0, ptr(ends))).toBe(0)
  return [ends[0]!, ends[1]!]
}

function makePipe(): [number, number] {
  const ends = new Int32Array(2)
  expect(libc.pipe(ptr(ends))).toBe(0)
  return [ends[1]!, ends[0]!]
}

const onLinux = test.skipIf(process.platform !== 'linux')

onLinux.each([
  ['socket', makeSockets],
  ['pipe', makePipe],
])('data that the reader of a %s has not read is detected', (_, make) => {
  const [own, other] = make()
  const bytes = Buffer.from('some words')
  expect(readPipeState(own)).toBe('read')
  libc.write(own, ptr(bytes), bytes.length)
  expect(readPipeState(own)).toBe('unread')
  libc.read(other, ptr(bytes), 4)
  expect(readPipeState(own)).toBe('unread')
  libc.read(other, ptr(bytes), bytes.length)
  expect(readPipeState(own)).toBe('read')
  libc.close(other)
  expect(readPipeState(own)).toBe('read')
  libc.close(own)
})

onLinux('a reader that goes away before it has read all is known', () => {
  const [own, other] = makeSockets()
  const bytes = Buffer.from('some words')
  libc.write(own, ptr(bytes), bytes.length)
  libc.close(other)
  expect(readPipeState(own)).toBe('gone')
  libc.close(own)
})
