import { join } from 'node:path'
import { Mask } from '../../base/secrets/mask.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { readFacts } from '../facts.ts'
import { ownFolder } from '../own-folder.ts'
import { namedIn } from '../secrets.ts'
import { recordPlaces } from '../../records/journal/record-folder.ts'
import type { Project } from '../project.ts'
import type { Check, Place } from './check.ts'
import { checkClis } from './clis.ts'
import { checkClock } from './clock.ts'
import { checkDisk } from './disk.ts'
import { checkFolders, foldersOf, type Folder } from './folders.ts'
import { checkGit } from './git.ts'
import type { GitFolders } from './git-folder.ts'
import { checkKeys } from './keys.ts'
import { checkLogin } from './login.ts'
import { checkNetwork } from './network.ts'
import { checkAgentFiles, checkChains, checkSpecs, checkTasks, needsClaude } from './project.ts'
import { checkRuns } from './runs.ts'
import { checkNesting, checkSandbox } from './sandbox.ts'

/** Looks for whatever would keep a run of this project from working; `config` is what --config names. */
export async function examineMachine(
  project: Project,
  config: string | undefined,
): Promise<Check[]> {
  const { folder: cwd } = project
  const env = makeAgentEnvironment(process.env, ownFolder())
  const facts = readFacts(env)
  const { check: chains, configuration } = await checkChains(project, config, facts)
  const place: Place = {
    cwd,
    env,
    facts,
    needsClaude: configuration === undefined || needsClaude(configuration.content, cwd, facts),
  }
  const [clis, git] = await Promise.all([checkClis(place), checkGit(place)])
  const places = recordPlaces(project, process.env)
  const [records] = places.roots
  const folders = foldersOf(place, records, git.folders)
  // Names of branches, paths and processes may hold anything.
  const mask = new Mask({ ...env, ...namedIn(configuration?.content) })
  return mask.data([
    ...clis,
    checkLogin(place, Date.now(), process.platform),
    ...checkKeys(configuration?.content ?? { chains: {} }, place),
    checkNetwork(place, configuration?.content),
    checkSandbox(place, process.getuid?.()),
    ...checkNesting(place, process.env),
    ...git.checks,
    chains,
    ...checkAgentFiles(configuration?.content ?? { chains: {} }, cwd, facts),
    checkSpecs(cwd),
    checkTasks(cwd),
    checkRuns(cwd, places),
    checkFolders(folders, records),
    checkDisk(folders),
    checkClock(Date.now(), knownFiles(folders, git.folders), process.env['TZ']),
  ])
}

/** What was certainly changed before now. */
function knownFiles(folders: readonly Folder[], git: GitFolders | undefined): string[] {
  const inGit = git === undefined ? [] : ['index', 'HEAD'].map((name) => join(git.own, name))
  return [process.execPath, ...inGit, ...folders.map(({ path }) => path)]
}
