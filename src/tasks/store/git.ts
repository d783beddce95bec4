import { askGit } from '../../base/tracked.ts'

/** What a git command that only reads says; undefined where it fails or there is no git. */
export function runGit(root: string, args: readonly string[]): string | undefined {
  return askGit(root, args, process.env)
}
