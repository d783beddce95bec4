import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Whether a folder belongs to a git repository; git itself need not be asked, or there. */
export function isInRepository(folder: string): boolean {
  const parent = dirname(folder)
  return existsSync(join(folder, '.git')) || (parent !== folder && isInRepository(parent))
}
