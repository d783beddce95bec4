import { dlopen, type FFIFunction, type Library } from 'bun:ffi'

const NAMES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`],
  darwin: ['libSystem.B.dylib'],
}

/** The system's own functions, or undefined where the library cannot be opened. */
export function openLibc<Symbols extends Record<string, FFIFunction>>(
  symbols: Symbols,
): Library<Symbols>['symbols'] | undefined {
  for (const name of NAMES[process.platform] ?? []) {
    try {
      return dlopen(name, symbols).symbols
    } catch {
      // The next name: glibc and musl call the same library differently.
    }
  }
  return undefined
}
