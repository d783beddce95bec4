import { dirname, join } from 'node:path'

/**
 * Where our own programs are: appended to the PATH of agents, so that they can call them. Undefined
 * inside of another program, whose folder is nobody's business.
 */
export function ownFolder(): string | undefined {
  return import.meta.path.startsWith('/$bunfs/') ? dirname(process.execPath) : undefined
}

/** The program itself, under the name by which its verbs are called. */
export function ownProgram(): string | undefined {
  const folder = ownFolder()
  return folder === undefined ? undefined : join(folder, 'forkhestra')
}
