import { ptr } from 'bun:ffi'
import { lazyLinuxLibc } from './libc.ts'

const SYMBOLS = {
  ioctl: { args: ['i32', 'u64', 'ptr'], returns: 'i32' },
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
} as const

const FIONREAD = 0x541bn
const SIOCOUTQ = 0x5411n
const SOL_SOCKET = 1
const SO_ERROR = 4

const libc = lazyLinuxLibc(SYMBOLS)

/**
 * Whether everything written to a pipe or a socket has been read at the other end; `gone`: the reader
 * closed it before. Counts as read if the system cannot tell.
 */
export function readPipeState(fd: number): 'read' | 'unread' | 'gone' {
  const symbols = libc()
  if (symbols === undefined) return 'read'
  const value = new Int32Array(1)
  // Pipes do not support SIOCOUTQ; coding CLIs use sockets, shells use pipes.
  if (symbols.ioctl(fd, SIOCOUTQ, ptr(value)) === 0) {
    if (value[0]! > 0) return 'unread'
    // The kernel drops what a dead reader left unread, and sets an error.
    const size = new Int32Array([value.byteLength])
    const isKnown = symbols.getsockopt(fd, SOL_SOCKET, SO_ERROR, ptr(value), ptr(size)) === 0
    return isKnown && value[0] !== 0 ? 'gone' : 'read'
  }
  return symbols.ioctl(fd, FIONREAD, ptr(value)) === 0 && value[0]! > 0 ? 'unread' : 'read'
}
