import { statfsSync } from 'node:fs'
import { errorText } from '../../base/errors.ts'
import { formatBytes, statOf } from '../../base/files.ts'
import { ok, problem, warning, type Check } from './check.ts'
import { nearestThere, type Folder } from './folders.ts'

const MIB = 1024 ** 2
const LITTLE = 1024 * MIB
const TOO_LITTLE = 100 * MIB
const FEW_FILES = 10_000
const TOO_FEW_FILES = 1000

type Room = Pick<Check, 'state' | 'text'>

/** The free space of all disks that a run writes to, the worst of them first. */
export function checkDisk(folders: readonly Pick<Folder, 'what' | 'path'>[]): Check {
  const disks = Map.groupBy(folders, ({ path }) => statOf(nearestThere(path))?.dev)
  const rooms = [...disks.values()]
    .map((those) => {
      const { state, text } = measure(nearestThere(those[0]!.path))
      const names = [...new Set(those.map(({ what }) => what))]
      return { state, text: `${text} for ${names.join(', ')}` }
    })
    .toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state))
  const text = rooms.map((room) => room.text).join('\n')
  const state = rooms[0]?.state ?? 'ok'
  if (state === 'ok') return ok('disk', text)
  const report = state === 'problem' ? problem : warning
  return report('disk', text, 'Free disk space before you leave a run unattended.')
}

const ORDER: readonly Check['state'][] = ['problem', 'warning', 'ok']

function measure(path: string): Room {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(path)
    // Some file systems do not count their files.
    return describeRoom(bavail * bsize, files > 0 ? ffree : Infinity)
  } catch (error) {
    return { state: 'warning', text: `an unknown amount free (${errorText(error)})` }
  }
}

export function describeRoom(bytes: number, files: number): Room {
  if (files < FEW_FILES) {
    const state = files < TOO_FEW_FILES || bytes < TOO_LITTLE ? 'problem' : 'warning'
    return { state, text: `only ${formatBytes(bytes)} and ${files} files free` }
  }
  if (bytes >= LITTLE) return { state: 'ok', text: `${Math.floor(bytes / LITTLE)} GiB free` }
  const state = bytes < TOO_LITTLE ? 'problem' : 'warning'
  return { state, text: `only ${formatBytes(bytes)} free` }
}
