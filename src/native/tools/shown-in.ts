import { relative } from 'node:path'
import { pathInside } from '../../base/places.ts'
import { shownPath } from '../../base/printable.ts'
import type { Workplace } from './tool.ts'

/** A file as people would call it from the project's folder. */
export function shownIn(real: string, { cwd }: Workplace): string {
  const short = relative(pathInside('.', { cwd }) ?? cwd, real)
  return shownPath(short.startsWith('..') ? real : short)
}
