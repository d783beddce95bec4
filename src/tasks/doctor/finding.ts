import type { Draft } from '../change.ts'
import type { Places } from '../places.ts'
import type { Scan } from '../scan.ts'

export interface Finding {
  readonly file: string
  readonly problem: string
  /** What was done about it; absent where a person has to. */
  readonly mended?: string
}

/** One kind of thing that can be wrong, and what to do about it. */
export interface Ailment {
  find(places: Places, scan: Scan): Finding[]
  mend(places: Places, scan: Scan, draft: Draft): Finding[]
}
