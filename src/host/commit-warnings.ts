import { join } from 'node:path'
import { gitFolder, readOrEmpty, repositoryTop } from '../base/repository.ts'
import { changesCode } from '../chain/plan/agent-role.ts'
import { stepsOf, type Plan } from '../chain/plan/plan.ts'

/** Warns if commits of coding agents would not be on any branch. */
export function commitWarnings({ root, cwd }: Plan): string[] {
  const commits = stepsOf(root).some(({ agent }) => agent.engine !== 'binary' && changesCode(agent))
  const top = commits ? repositoryTop(cwd) : undefined
  const folder = top === undefined ? undefined : gitFolder(top)
  if (folder === undefined || !DETACHED.test(readOrEmpty(join(folder, 'HEAD')))) return []
  return ["HEAD is detached, so agents' commits will not be on any branch; run: git switch -c NAME"]
}

/** HEAD contains a commit id instead of the name of a branch. */
const DETACHED = /^[0-9a-f]{40,64}\s*$/
