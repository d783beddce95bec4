/** By what each of many files is recognised as unchanged; what leads nowhere has zeros. */
export interface Fingerprints {
  readonly mtimes: Float64Array
  readonly sizes: Float64Array
  readonly inodes: Float64Array
}

export function makePrints(count: number): Fingerprints {
  return {
    mtimes: new Float64Array(count),
    sizes: new Float64Array(count),
    inodes: new Float64Array(count),
  }
}

/** The files of a folder that are tasks, or should be. */
export interface Folder {
  readonly files: readonly string[]
  readonly prints: Fingerprints
  /** The same for the same names in the same order. */
  readonly listing: bigint
}
