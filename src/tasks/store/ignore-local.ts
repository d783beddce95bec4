import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import type { Places } from './places.ts'

/** Outside of git the local state lies beside the tasks, and keeps itself out of a later repository. */
export function ignoreLocal({ shared, local }: Places): void {
  const path = join(shared, '.gitignore')
  if (shared === local && statOf(path) === undefined) writeFileSync(path, '*\n')
}
