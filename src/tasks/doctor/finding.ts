import type { Draft } from '../store/change.ts'
import type { Places } from '../store/places.ts'
import type { Scan } from '../store/scan.ts'

export interface Finding {
  readonly file: string
  /** Where in the file, if that is known. */
  readonly line?: number
  readonly problem: string
  /** What was done about it; absent where a person has to. */
  readonly mended?: string
}

/** With what a change is made, and what was found out before the database was locked for it. */
export interface Mending {
  readonly draft: Draft
  readonly now: Date
  /** The references that mean the younger one of two twins. */
  readonly meant: ReadonlySet<string>
}

/** What the doctor looks at: the open tasks, and those of the archive. */
export interface Patient extends Scan {
  readonly archived: Scan
}

/** One kind of thing that can be wrong, and what to do about it. */
export interface Ailment {
  readonly find: (places: Places, patient: Patient) => Finding[]
  readonly mend: (places: Places, patient: Patient, mending: Mending) => Finding[]
  /** What to say of something mended, once the database is free again for others. */
  readonly follow?: (places: Places, mended: Finding) => Finding
}
