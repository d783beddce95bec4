import type { Draft } from '../store/change.ts'
import type { Places } from '../store/places.ts'
import type { Scan } from '../store/scan.ts'

export interface Finding {
  readonly file: string
  readonly line?: number
  readonly problem: string
  /** What the fix did; absent if a person has to act. */
  readonly mended?: string
}

/** What a fix gets besides the database. */
export interface FixTools {
  readonly draft: Draft
  readonly now: Date
  /** References to the younger of two tasks with the same id; found before the database is locked. */
  readonly youngerReferences: ReadonlySet<string>
}

export interface Database extends Scan {
  readonly archived: Scan
}

export interface Check {
  readonly find: (places: Places, database: Database) => Finding[]
  readonly fix: (places: Places, database: Database, fixing: FixTools) => Finding[]
  /** Completes the finding of a fix after the lock is released. */
  readonly follow?: (places: Places, fixed: Finding) => Finding
}
