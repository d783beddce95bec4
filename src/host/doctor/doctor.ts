import { join } from 'node:path'
import { Mask } from '../../base/secrets/mask.ts'
import { readFacts } from '../facts.ts'
import { agentEnvironment } from '../own-folder.ts'
import { namedIn } from '../secrets.ts'
import { recordPlaces } from '../../records/journal/record-folder.ts'
import type { FrontEnd } from '../front-end.ts'
import type { Project } from '../project.ts'
import type { Check, CheckContext } from './check.ts'
import { checkKeys, checkLogin, checkNetwork } from './access.ts'
import { checkClis } from './clis.ts'
import { checkDisk, checkFolders, foldersOf } from './folders.ts'
import { checkGit } from './git.ts'
import {
  checkAgentFiles,
  checkChains,
  checkSpecFiles,
  checkTaskFiles,
  needsClaude,
} from './project.ts'
import { checkRuns } from './runs.ts'
import { checkClock, checkNesting, checkSandbox } from './surroundings.ts'

/** Checks everything that could make a run of this project fail; `config` is the value of --config. */
export async function examineMachine(
  project: Project,
  config: string | undefined,
  ownEnv: FrontEnd['env'],
): Promise<Check[]> {
  const { folder: cwd } = project
  const env = agentEnvironment(ownEnv)
  const facts = readFacts(env)
  const { check: chains, configuration } = await checkChains(project, config, facts, ownEnv)
  const content = configuration?.content ?? { chains: {} }
  const context: CheckContext = {
    cwd,
    env,
    facts,
    needsClaude: configuration === undefined || needsClaude(content, cwd, facts),
  }
  const [clis, git] = await Promise.all([checkClis(context), checkGit(context)])
  const places = recordPlaces(project, ownEnv)
  const [records] = places.roots
  const folders = foldersOf(context, records, git.folders)
  // Files whose last change is certainly in the past.
  const inGit = git.folders === undefined ? [] : [git.folders.own]
  const known = [
    process.execPath,
    ...inGit.flatMap((own) => [join(own, 'index'), join(own, 'HEAD')]),
    ...folders.map(({ path }) => path),
  ]
  // Names of branches, paths and processes may contain anything.
  const mask = new Mask({ ...env, ...namedIn(content) })
  return mask.data([
    ...clis,
    checkLogin(context, Date.now(), process.platform),
    ...checkKeys(content, context),
    checkNetwork(context, content),
    checkSandbox(context, process.getuid?.()),
    ...checkNesting(context, ownEnv),
    ...git.checks,
    chains,
    ...checkAgentFiles(content, cwd, facts),
    checkSpecFiles(cwd),
    checkTaskFiles(cwd, ownEnv),
    checkRuns(cwd, places),
    checkFolders(folders, records),
    checkDisk(folders),
    checkClock(Date.now(), known, ownEnv['TZ']),
  ])
}
