import { closeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { errorCode } from '../../base/errors.ts'
import { openFolder, throughOpened } from '../../base/places.ts'
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
    const folder = openFolder(dirname(path), workplace)
    if (folder === undefined) return 'its folder has moved'
    try {
      const place = join(throughOpened(folder, dirname(path)), basename(path))
      writeFileAtomic(place, bytes, { durable: true, mode })
      return undefined
    } finally {
      closeSync(folder)
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return explainSystem(error)
  }
}
