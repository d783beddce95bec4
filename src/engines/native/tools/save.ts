import { closeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { writeFileAtomic } from '../../../base/atomic-write.ts'
import { errorCode } from '../../../base/errors.ts'
import { openFolder, throughOpened } from '../../../base/places.ts'
import { explainSystem } from './problems.ts'
import type { Workspace } from './tool.ts'

/** Creates or replaces a file, and creates its folders; returns the problem, if any. */
export function saveFile(
  path: string,
  bytes: Uint8Array,
  mode: number | undefined,
  workspace: Workspace,
): string | undefined {
  try {
    const folder = openFolder(dirname(path), workspace)
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
