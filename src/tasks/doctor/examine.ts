import { change } from '../store/change.ts'
import type { Places } from '../store/places.ts'
import { scanTasks, type Scan } from '../store/scan.ts'
import { scanArchive } from '../archive.ts'
import { archivedOpen } from './archived-open.ts'
import { brokenFiles } from './broken-files.ts'
import { dependencyCycles } from './dependency-cycles.ts'
import { configuration } from './configuration.ts'
import { archivedCopies } from './archived-copies.ts'
import { dangling } from './dangling.ts'
import type { Check, Finding, Database } from './finding.ts'
import { misnamed } from './misnamed.ts'
import { oversized } from './oversized.ts'
import { parentCycles } from './parent-cycles.ts'
import { lostFiles } from './lost-files.ts'
import { findYoungerReferences, duplicateIds } from './duplicate-ids.ts'
import { unfinished } from './unfinished.ts'

const CHECKS: readonly Check[] = [
  configuration,
  oversized,
  brokenFiles,
  archivedCopies,
  duplicateIds,
  misnamed,
  dangling,
  dependencyCycles,
  parentCycles,
  archivedOpen,
  unfinished,
  lostFiles,
]

/** Everything that is wrong with the database; with `fix`, fixes what it can. */
export function examine(places: Places, fix: boolean, now: Date): Finding[] {
  const fixed = fix ? fixAll(places, now) : []
  const database = readDatabase(places)
  return [...fixed, ...CHECKS.flatMap(({ find }) => find(places, database))]
}

/** Reads the archive lazily, because few checks need it. */
function readDatabase(places: Places): Database {
  let archived: Scan | undefined
  return {
    ...scanTasks(places),
    get archived() {
      return (archived ??= scanArchive(places))
    },
  }
}

/** One after the other: later checks see what earlier ones have fixed. */
function fixAll(places: Places, now: Date): Finding[] {
  return CHECKS.flatMap((check) => {
    const youngerReferences =
      check === duplicateIds ? findYoungerReferences(places) : new Set<string>()
    const fixed = change(places, (draft) =>
      check.fix(places, readDatabase(places), { draft, now, youngerReferences }),
    )
    return fixed.map((finding) => check.follow?.(places, finding) ?? finding)
  })
}
