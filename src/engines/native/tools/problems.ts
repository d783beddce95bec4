import { closeSync, fstatSync, readdirSync, type Dirent } from 'node:fs'
import { basename, dirname } from 'node:path'
import { errorCode, errorText, tryOr } from '../../../base/errors.ts'
import { explainOpening } from '../../../base/files.ts'
import { nearest } from '../../../base/nearest.ts'
import {
  openInside,
  type Opened,
  type Places,
  realPlaces,
  throughOpened,
} from '../../../base/places.ts'
import { shownPath } from '../../../base/terminal/printable.ts'
import type { ToolAnswer } from './tool.ts'

const SYSTEM: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'the file would be larger than the system allows',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission to write there',
  EPERM: 'the system does not permit it',
  ENAMETOOLONG: 'the name is too long',
  ENOTDIR: 'part of the path is a file, not a folder',
  EEXIST: 'part of the path is a file, not a folder',
  ENOENT: 'its folder is gone',
  EMFILE: 'too many files are open',
}

/** Explains a system error without the names of temporary files. */
export function explainSystem(error: unknown): string {
  return SYSTEM[errorCode(error) ?? ''] ?? errorText(error)
}

export function fail(text: string): ToolAnswer {
  return { text, isError: true }
}

export function refuse(action: string, path: string, problem: string): ToolAnswer {
  return fail(`Cannot ${action} ${shownPath(path)}: ${problem}.`)
}

export function refuseOutside(action: string, path: string, places: Places): ToolAnswer {
  const where = realPlaces(places).map(shownPath).join(', ')
  return refuse(action, path, `it is outside ${where}`)
}

type NotOpened = Exclude<Opened, { kind: 'opened' }>

/** Why a path could not be opened; suggests a similar name. */
export function explainNotOpened(
  action: string,
  path: string,
  why: NotOpened,
  places: Places,
): ToolAnswer {
  if (why.kind === 'outside') return refuseOutside(action, path, places)
  const file = explainOpening(why.error, why.path)
  if (file.kind === 'unusable') return refuse(action, path, `it ${shownPath(file.problem)}`)
  return fail(`File does not exist: ${shownPath(path)}${nearName(why.path, places)}`)
}

/** Limits the search for similar names in large folders. */
const MOST_NAMES = 5000

function nearName(path: string, places: Places): string {
  const folder = openInside(dirname(path), places)
  if (folder.kind !== 'opened') return '; its folder does not exist either'
  try {
    if (!fstatSync(folder.fd).isDirectory()) return '; its folder does not exist either'
    const names = entriesOf(throughOpened(folder.fd, folder.path)).map(({ name }) => name)
    const near = nearest(basename(path), names.slice(0, MOST_NAMES))
    return near === undefined ? '' : `; there is ${shownPath(near)} in the same folder`
  } finally {
    closeSync(folder.fd)
  }
}

export function entriesOf(folder: string): readonly Dirent[] {
  return tryOr([], () => readdirSync(folder, { withFileTypes: true }))
}
