import { dirname, join } from 'node:path'
import { statOf } from '../base/files.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'

/** In an installed package. */
const BUILT = join(import.meta.dir, '../../bin')

/**
 * The folder of our own programs, appended to the PATH of agents. Undefined if the library is part of another
 * program.
 */
export function ownFolder(): string | undefined {
  if (import.meta.path.startsWith('/$bunfs/')) return dirname(process.execPath)
  return statOf(join(BUILT, 'forkhestra'))?.isFile() === true ? BUILT : undefined
}

/** The path of the program `forkhestra`. */
export function ownProgram(): string | undefined {
  const folder = ownFolder()
  const program = folder === undefined ? undefined : join(folder, 'forkhestra')
  // A program compiled with the library has no `forkhestra` next to it.
  return program !== undefined && statOf(program)?.isFile() === true ? program : undefined
}

/** The environment that agents start from, with our own programs on PATH. */
export function agentEnvironment(
  outer: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return makeAgentEnvironment(outer, ownFolder())
}
