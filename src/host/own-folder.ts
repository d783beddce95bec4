import { dirname, join } from 'node:path'
import { statOf } from '../base/files.ts'

/** Of the package that a program has installed. */
const BUILT = join(import.meta.dir, '../../bin')

/**
 * Where our own programs are: appended to the PATH of agents, so that they can call them. Undefined
 * where the library is part of another program, without them.
 */
export function ownFolder(): string | undefined {
  if (import.meta.path.startsWith('/$bunfs/')) return dirname(process.execPath)
  return statOf(join(BUILT, 'forkhestra'))?.isFile() === true ? BUILT : undefined
}

/** The program itself, under the name by which its commands are called. */
export function ownProgram(): string | undefined {
  const folder = ownFolder()
  const program = folder === undefined ? undefined : join(folder, 'forkhestra')
  // A program that was compiled together with the library has none next to it.
  return program !== undefined && statOf(program)?.isFile() === true ? program : undefined
}
