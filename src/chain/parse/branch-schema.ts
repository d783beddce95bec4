import * as z from 'zod/mini'
import { field, string } from './schema-fields.ts'

// The settings of branches. Steps, groups, chains and agents have the same fields, because each sets the
// defaults for what it contains.

const COPY_ERROR = 'a path inside the project such as ".env"'

/** Whether a path stays inside a folder, and is neither the folder itself nor its `.git`. */
export function staysInside(path: string): boolean {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  const isWrong = (part: string) => part === '..' || part === '.git' || part === '~'
  return !path.startsWith('/') && parts.length > 0 && !parts.some(isWrong)
}

export const BRANCH_FIELDS = {
  isolation: () =>
    field(
      'Where a branch works. Default: worktree for copies, loops and direct agents in a git repository, otherwise shared.',
      z.enum(['shared', 'worktree'], { error: '"shared" or "worktree"' }),
    ),
  setup: () =>
    field(
      'Command that runs once in every new worktree.',
      string('a command', [/\S/, 'a command that is not empty']),
    ),
  copy: () =>
    field(
      'Paths that every new worktree gets from the project, such as ".env".',
      z.array(string(COPY_ERROR).check(z.refine(staysInside, { error: COPY_ERROR })), {
        error: 'a list of paths inside the project',
      }),
    ),
  merge: () =>
    field(
      'Whether commits of a worktree are rebased onto its target branch, or merged into it. Default: rebase.',
      z.enum(['rebase', 'merge'], { error: '"rebase" or "merge"' }),
    ),
}
