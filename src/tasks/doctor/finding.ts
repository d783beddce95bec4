import type { Draft } from '../store/change.ts'
import type { Places } from '../store/places.ts'
import type { Scan } from '../store/scan.ts'

export interface Finding {
  readonly file: string
  readonly problem: string
  /** What was done about it; absent where a person has to. */
  readonly mended?: string
}

/** One kind of thing that can be wrong, and what to do about it. */
export interface Ailment {
  readonly find: (places: Places, scan: Scan) => Finding[]
  readonly mend: (places: Places, scan: Scan, draft: Draft) => Finding[]
}
