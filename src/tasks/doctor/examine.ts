import { scanArchive } from '../archive.ts'
import { change } from '../store/change.ts'
import type { Places } from '../store/places.ts'
import { scanTasks, type Scan } from '../store/scan.ts'
import { archivedCopies, archivedOpen } from './archived.ts'
import { brokenFiles, oversized } from './broken-files.ts'
import type { Check, Database, Finding } from './check.ts'
import { duplicateIds, findYoungerReferences } from './duplicate-ids.ts'
import { configuration, lostFiles, misnamed, unfinished } from './files.ts'
import { dangling, dependencyCycles, parentCycles } from './references.ts'

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
    const { fix, follow = (_, finding) => finding } = check
    if (fix === undefined) return []
    const youngerReferences =
      check === duplicateIds ? findYoungerReferences(places) : new Set<string>()
    const fixed = change(places, (draft) =>
      fix(places, readDatabase(places), { draft, now, youngerReferences }),
    )
    return fixed.map((finding) => follow(places, finding))
  })
}
