import { dlopen, type FFIFunction, type Library } from 'bun:ffi'

const NAMES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`],
  darwin: ['libSystem.B.dylib'],
}

/** Functions of the C library, or undefined if it cannot be opened. */
export function openLibc<Symbols extends Record<string, FFIFunction>>(
  symbols: Symbols,
): Library<Symbols>['symbols'] | undefined {
  for (const name of NAMES[process.platform] ?? []) {
    try {
      return dlopen(name, symbols).symbols
    } catch {
      // Try the next name: glibc and musl use different ones.
    }
  }
  return undefined
}

/** Like `openLibc`, on first use and only on Linux. */
export function lazyLinuxLibc<Symbols extends Record<string, FFIFunction>>(symbols: Symbols) {
  let opened: { readonly symbols: Library<Symbols>['symbols'] | undefined } | undefined
  const open = () => (process.platform === 'linux' ? openLibc(symbols) : undefined)
  return () => (opened ??= { symbols: open() }).symbols
}
