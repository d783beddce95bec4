import { scanArchive } from '../archive.ts'
import { change } from '../store/change.ts'
import type { TaskFolders } from '../folders.ts'
import { scanTasks, type Scan } from '../store/scan.ts'
import { archivedCopies, archivedOpen } from './archived.ts'
import { brokenFiles, oversized } from './broken-files.ts'
import type { TaskCheck, Database, Finding } from './check.ts'
import { duplicateIds, findYoungerReferences } from './duplicate-ids.ts'
import { configuration, lostFiles, misnamed, unfinished } from './files.ts'
import { dangling, dependencyCycles, parentCycles } from './references.ts'

const CHECKS: readonly TaskCheck[] = [
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
export function examine(folders: TaskFolders, fix: boolean, now: Date): Finding[] {
  const fixed = fix ? fixAll(folders, now) : []
  const database = readDatabase(folders)
  return [...fixed, ...CHECKS.flatMap(({ find }) => find(folders, database))]
}

/** Reads the archive lazily, because few checks need it. */
function readDatabase(folders: TaskFolders): Database {
  let archived: Scan | undefined
  return {
    ...scanTasks(folders),
    get archived() {
      return (archived ??= scanArchive(folders))
    },
  }
}

/** One after the other: later checks see what earlier ones have fixed. */
function fixAll(folders: TaskFolders, now: Date): Finding[] {
  return CHECKS.flatMap((check) => {
    const { fix, completeFix = (_, finding) => finding } = check
    if (fix === undefined) return []
    const youngerReferences =
      check === duplicateIds ? findYoungerReferences(folders) : new Set<string>()
    const fixed = change(folders, (draft) =>
      fix(folders, readDatabase(folders), { draft, now, youngerReferences }),
    )
    return fixed.map((finding) => completeFix(folders, finding))
  })
}
