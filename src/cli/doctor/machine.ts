import { statfsSync } from 'node:fs'
import { errorText } from '../../base/errors.ts'
import { formatBytes } from '../../base/files.ts'
import { ok, problem, warning, type Check } from './check.ts'

const MIB = 1024 ** 2
const LITTLE = 1024 * MIB
const TOO_LITTLE = 100 * MIB

export function checkDisk(cwd: string): Check {
  try {
    const { bavail, bsize } = statfsSync(cwd)
    return describeFree(bavail * bsize)
  } catch (error) {
    return warning('disk', `free space is unknown: ${errorText(error)}`, 'Run: df .')
  }
}

export function describeFree(bytes: number): Check {
  const text = `${bytes >= LITTLE ? `${Math.floor(bytes / LITTLE)} GiB` : formatBytes(bytes)} free`
  if (bytes >= LITTLE) return ok('disk', text)
  const report = bytes < TOO_LITTLE ? problem : warning
  return report('disk', `only ${text}`, 'Make room before you leave a run alone.')
}

interface Screen {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export function checkTerminal({ isTTY, columns }: Screen, term: string | undefined): Check {
  if (isTTY !== true) return ok('terminal', 'none here; output passes byte for byte')
  return ok('terminal', `${term ?? 'of unknown kind'}, ${columns ?? '?'} columns`)
}
