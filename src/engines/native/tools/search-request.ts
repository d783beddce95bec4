/** The input of the searcher; paths are absolute, with symbolic links resolved. */
export interface SearchRequest {
  readonly kind: 'grep' | 'glob'
  /** The file or folder to search. */
  readonly base: string
  /** Files are named relative to it. */
  readonly cwd: string
  readonly places: readonly string[]
  readonly glob?: string | undefined
  readonly pattern: string
  readonly flags: string
  readonly mode: 'lines' | 'files' | 'counts'
  readonly context: number
  /** The maximum number of matching lines or files. */
  readonly limit: number
  /** Options for every call of git. */
  readonly safeGit: readonly string[]
}
