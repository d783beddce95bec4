import { askGit } from '../../base/tracked.ts'

/** The output of a read-only git command; undefined if it fails or git is missing. */
export function runGit(root: string, args: readonly string[]): string | undefined {
  return askGit(root, args, process.env)
}
