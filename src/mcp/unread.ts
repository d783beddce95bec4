import { ptr } from 'bun:ffi'
import { openLibc } from '../base/libc.ts'

const SYMBOLS = {
  ioctl: { args: ['i32', 'u64', 'ptr'], returns: 'i32' },
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
} as const

const FIONREAD = 0x541bn
const SIOCOUTQ = 0x5411n
const SOL_SOCKET = 1
const SO_ERROR = 4

let opened: { readonly symbols: ReturnType<typeof open> } | undefined
const open = () => (process.platform === 'linux' ? openLibc(SYMBOLS) : undefined)

/**
 * Whether all that was written to a pipe or a socket has been taken out of it at the other end;
 * `gone`: the reader went away before. Where the system cannot tell, what is written counts as read.
 */
export function readState(fd: number): 'read' | 'unread' | 'gone' {
  const { symbols } = (opened ??= { symbols: open() })
  if (symbols === undefined) return 'read'
  const value = new Int32Array(1)
  // Coding CLIs talk to their servers over sockets, shells over pipes, which know only the other call.
  if (symbols.ioctl(fd, SIOCOUTQ, ptr(value)) === 0) {
    if (value[0]! > 0) return 'unread'
    // What a dead reader left unread is thrown away and noted as an error.
    const size = new Int32Array([value.byteLength])
    const isKnown = symbols.getsockopt(fd, SOL_SOCKET, SO_ERROR, ptr(value), ptr(size)) === 0
    return isKnown && value[0] !== 0 ? 'gone' : 'read'
  }
  return symbols.ioctl(fd, FIONREAD, ptr(value)) === 0 && value[0]! > 0 ? 'unread' : 'read'
}
