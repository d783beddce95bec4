import { UserError } from '../base/errors.ts'
import { isInRepository } from '../base/repository.ts'
import { enterWorkingTree, type Occupation } from '../records/journal/working-tree.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { cwdOption } from '../views/describe.ts'
import { currentProject } from './project.ts'

/**
 * Claims the working tree for a run: two runs in the same tree would overwrite each other's files. A nested
 * run shares the tree of the outer one.
 */
export function takeWorkingTree(
  { run, cwd }: Plan,
  env: Readonly<Record<string, string | undefined>>,
  isShared: boolean,
): Occupation {
  if (isNested(env)) return { leave: () => undefined }
  const isWelcome = (others: readonly unknown[]) => others.length === 0 || isShared
  const taken = enterWorkingTree({ run, cwd }, env, isWelcome)
  if ('leave' in taken) return taken
  const [first] = taken
  const show = `forkhestra show ${first!.run}${cwdOption(first!.cwd || undefined, currentProject(env))}`
  throw new UserError(
    `Run ${first!.run} is still active in this working tree.`,
    [
      `See its status: ${show}`,
      ...(isInRepository(cwd) ? ['Or use another tree: git worktree add ../second'] : []),
      'Or start in the same tree: add --anyway',
    ].join('\n'),
  )
}

export function isNested(env: Readonly<Record<string, string | undefined>>): boolean {
  return Boolean(env['FORKHESTRA_RUN_ID'])
}
