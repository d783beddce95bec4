import { UserError } from '../base/errors.ts'
import { askGitSync } from '../base/tracked.ts'
import { enterWorkingTree, type Occupation } from '../records/journal/working-tree.ts'
import { recordPlaces } from '../records/journal/record-folder.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { cwdOption } from '../views/describe.ts'
import type { FrontEnd } from './front-end.ts'
import { clearOrphans } from './orphans.ts'
import { currentProject } from './project.ts'
import type { ReadyRun } from './run-session.ts'

interface Admission {
  /** Whether other runs may work in the same tree. */
  readonly anyway: boolean
  readonly killOrphans: boolean
}

/** Starts a new run in a working tree that no other run uses, and locks the tree until the run ends. */
export async function startInWorkingTree<Result>(
  ready: ReadyRun,
  { anyway, killOrphans }: Admission,
  frontEnd: FrontEnd,
  start: (ready: ReadyRun) => Promise<Result>,
): Promise<Result> {
  const { env, project } = frontEnd
  const workingTree = takeWorkingTree(ready.plan, env, anyway)
  try {
    const choice = { mayKill: killOrphans, isShared: anyway || isNested(env) }
    const orphans = await clearOrphans(recordPlaces(project, env), choice, frontEnd)
    return await start({ ...ready, warnings: [...ready.warnings, ...orphans] })
  } finally {
    workingTree.leave()
  }
}

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
  // git cannot add a worktree to a repository without commits.
  const hasCommits = askGitSync(cwd, ['rev-parse', '--verify', 'HEAD'], env) !== undefined
  const show = `forkhestra show ${first!.run}${cwdOption(first!.cwd || undefined, currentProject(env))}`
  throw new UserError(
    `Run ${first!.run} is still active in this working tree.`,
    [
      `See its status: ${show}`,
      ...(hasCommits ? ['Or use another tree: git worktree add ../second'] : []),
      'Or start in the same tree anyway: add --anyway',
    ].join('\n'),
  )
}

function isNested(env: Readonly<Record<string, string | undefined>>): boolean {
  return Boolean(env['FORKHESTRA_RUN_ID'])
}
