import { join } from 'node:path'
import type { Environment } from '../base/environment.ts'
import { findGit } from '../base/git.ts'
import { gitFolder, readOrEmpty, repositoryTop } from '../base/repository.ts'
import { askGitSync } from '../base/tracked.ts'
import { changesCode } from '../chain/plan/agent-role.ts'
import { hasWorktrees } from '../chain/plan/branches.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { makePlan } from '../chain/plan/make-plan.ts'
import { stepsOf, type Plan } from '../chain/plan/plan.ts'
import type { Request } from '../chain/plan/request.ts'
import { checkTasks } from '../chain/plan/task-verdict.ts'
import type { Tasks } from '../chain/plan/tasks.ts'
import { checkBranchRepository } from './branch-repository.ts'
import { makeTaskPort } from './task-port.ts'

interface PlannedRun {
  readonly plan: Plan
  readonly warnings: string[]
  readonly tasks: Tasks
}

/** Makes the plan of a run and checks it against the tasks and the repository of the project. */
export async function planRun(
  request: Request,
  facts: Facts,
  env: Readonly<Record<string, string>>,
): Promise<PlannedRun> {
  const { plan, warnings } = makePlan(request, facts)
  const tasks = makeTaskPort(plan.cwd, plan.run, env)
  await checkTasks(plan, tasks, warnings)
  checkBranchRepository(plan, env)
  return { plan, warnings: [...warnings, ...commitWarnings(plan, env)], tasks }
}

/** Warns if agents cannot commit, or if their commits would be on no branch. */
function commitWarnings(plan: Plan, env: Environment): string[] {
  const { root, cwd } = plan
  const commits = stepsOf(root).some(({ agent }) => agent.engine !== 'binary' && changesCode(agent))
  const top = commits || hasWorktrees(plan) ? repositoryTop(cwd) : undefined
  const folder = top === undefined ? undefined : gitFolder(top)
  if (folder === undefined) return []
  return [
    ...(commits && DETACHED.test(readOrEmpty(join(folder, 'HEAD'))) ? [NO_BRANCH] : []),
    ...(isKnown(cwd, env) ? [] : [NO_USER]),
  ]
}

/** HEAD contains a commit id instead of the name of a branch. */
const DETACHED = /^[0-9a-f]{40,64}\s*$/

const NO_BRANCH =
  "HEAD is detached, so agents' commits will not be on any branch; run: git switch -c NAME"
const NO_USER =
  'git user.name and user.email are not set, so agents cannot commit; run: git config user.name NAME && git config user.email ADDRESS'

/** Whether git has a name and email for commits. */
function isKnown(cwd: string, env: Environment): boolean {
  const idents = ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT']
  const isInstalled = findGit(env['PATH']) !== undefined
  return !isInstalled || idents.every((name) => askGitSync(cwd, ['var', name], env) !== undefined)
}
