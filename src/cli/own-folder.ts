import { dirname } from 'node:path'

/** Where our own programs are: appended to the PATH of agents, so that they can call them. */
export function ownFolder(): string {
  return dirname(process.execPath)
}
