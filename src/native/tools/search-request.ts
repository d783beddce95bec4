/** What the searcher is asked; all paths are absolute with all links followed. */
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
  /** So many matching lines or files at most. */
  readonly limit: number
  /** Options for every call of git. */
  readonly safeGit: readonly string[]
}
