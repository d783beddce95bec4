import { closeSync, constants, existsSync, mkdirSync, openSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { errorCode } from '../../base/errors.ts'
import { isInside, pathOfOpened, realPlaces } from '../../base/places.ts'
import { explainSystem } from './problems.ts'
import type { Workplace } from './tool.ts'

/** Replaces or makes a file, and its folders; answers what is wrong, or undefined. */
export function saveFile(
  path: string,
  bytes: Uint8Array,
  mode: number | undefined,
  workplace: Workplace,
): string | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true })
    return saveInto(dirname(path), basename(path), bytes, mode, workplace)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return explainSystem(error)
  }
}

/** Into the folder that was opened and judged, whatever its path means by now. */
function saveInto(
  folder: string,
  name: string,
  bytes: Uint8Array,
  mode: number | undefined,
  workplace: Workplace,
): string | undefined {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    if (!isInside(pathOfOpened(fd, folder), realPlaces(workplace))) return 'its folder has moved'
    const opened = `/proc/self/fd/${fd}`
    const place = existsSync(opened) ? opened : folder
    writeFileAtomic(join(place, name), bytes, { durable: true, mode })
    return undefined
  } finally {
    closeSync(fd)
  }
}
