import { change } from '../store/change.ts'
import type { Places } from '../store/places.ts'
import { scanTasks, type Scan } from '../store/scan.ts'
import { scanArchive } from '../archive.ts'
import { archivedOpen } from './archived-open.ts'
import { brokenFiles } from './broken-files.ts'
import { circles } from './circles.ts'
import { configuration } from './configuration.ts'
import { copies } from './copies.ts'
import { dangling } from './dangling.ts'
import type { Ailment, Finding, Patient } from './finding.ts'
import { misnamed } from './misnamed.ts'
import { oversized } from './oversized.ts'
import { parentCircles } from './parent-circles.ts'
import { lost } from './lost.ts'
import { findMeant, twins } from './twins.ts'
import { unfinished } from './unfinished.ts'

const AILMENTS: readonly Ailment[] = [
  configuration,
  oversized,
  brokenFiles,
  copies,
  twins,
  misnamed,
  dangling,
  circles,
  parentCircles,
  archivedOpen,
  unfinished,
  lost,
]

/** Everything that is wrong with the database; with `fix`, what can be mended is. */
export function examine(places: Places, fix: boolean, now: Date): Finding[] {
  const mended = fix ? mendAll(places, now) : []
  const patient = look(places)
  return [...mended, ...AILMENTS.flatMap(({ find }) => find(places, patient))]
}

/** Few ailments ask for the archive, which has to be read file by file. */
function look(places: Places): Patient {
  let archived: Scan | undefined
  return {
    ...scanTasks(places),
    get archived() {
      return (archived ??= scanArchive(places))
    },
  }
}

/** One after the other: what is mended first is seen by those that follow. */
function mendAll(places: Places, now: Date): Finding[] {
  return AILMENTS.flatMap((ailment) => {
    const meant = ailment === twins ? findMeant(places) : new Set<string>()
    const mended = change(places, (draft) =>
      ailment.mend(places, look(places), { draft, now, meant }),
    )
    return mended.map((finding) => ailment.follow?.(places, finding) ?? finding)
  })
}
