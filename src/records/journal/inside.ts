import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lstatOf } from '../../base/files.ts'
import { MOST_BYTES } from './event-lines.ts'

/**
 * Opens a file of a record for reading. Refuses names and links that lead out of the record, and everything
 * except regular files, which could block or never end.
 */
export function openIn(folder: string, name: string): number {
  const path = pathIn(folder, name)
  if (path === undefined) throw new Error(`${JSON.stringify(name)} is not a file of a record`)
  const fd = openSync(path, READ)
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw new Error(`${path} is not a regular file`)
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

export function readTextIn(folder: string, name: string): string {
  const fd = openIn(folder, name)
  try {
    if (fstatSync(fd).size > MOST_BYTES) throw new Error(`${name} is too large`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** The path of a file of a record; undefined if its name or a link leads out of the record. */
export function pathIn(folder: string, name: string): string | undefined {
  const parts = name.split('/')
  const file = parts.pop()
  if ([...parts, file].some((part) => part === '' || part === '.' || part === '..'))
    return undefined
  let path = folder
  for (const part of parts) {
    path = join(path, part)
    if (lstatOf(path)?.isSymbolicLink() === true) return undefined
  }
  return join(path, file!)
}
