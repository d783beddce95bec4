import { constants } from 'node:os'
import { join } from 'node:path'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { lookAround } from '../../setup/facts.ts'
import { ownFolder } from '../../setup/own-folder.ts'
import { recordPlaces } from '../../journal/record-folder.ts'
import type { Input } from '../command.ts'
import { projectOf } from '../project.ts'
import { isHangupIgnored } from '../signals.ts'
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
import { endAsked } from './program.ts'
import { checkRuns } from './runs.ts'
import { checkNesting, checkSandbox } from './sandbox.ts'
import { checkTerminal } from './terminal.ts'

/** The verb `doctor`: exit code 1 if something would keep a run from working. */
export async function runDoctor(input: Input): Promise<number> {
  // Asked before we listen ourselves.
  const terminal = checkTerminal(process.stdout, process.env, isHangupIgnored())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      endAsked()
      process.exit(128 + constants.signals[signal])
    })
  }
  const found = await makeChecks(input)
  const checks = [...found, terminal]
  const problems = checks.filter(({ state }) => state === 'problem').length
  if (input.flag('json')) console.log(JSON.stringify({ ok: problems === 0, checks }))
  else console.log([...checks.flatMap(renderCheck), '', summary(checks)].join('\n'))
  return problems === 0 ? 0 : 1
}

async function makeChecks(input: Input): Promise<Check[]> {
  const project = projectOf(input)
  const { folder: cwd } = project
  const env = makeAgentEnvironment(process.env, ownFolder())
  const facts = lookAround(env)
  const { check: chains, configuration } = await checkChains(input, project, facts)
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
  return [
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
  ]
}

/** What was certainly changed before now. */
function knownFiles(folders: readonly Folder[], git: GitFolders | undefined): string[] {
  const inGit = git === undefined ? [] : ['index', 'HEAD'].map((name) => join(git.own, name))
  return [process.execPath, ...inGit, ...folders.map(({ path }) => path)]
}

function renderCheck({ name, state, text, next }: Check): string[] {
  const head = `${state.padEnd(9)}${name.padEnd(15)}`
  const lines = text.replaceAll('\n', `\n${' '.repeat(head.length)}`)
  return [`${head}${lines}`, ...(next === undefined ? [] : [`${' '.repeat(head.length)}${next}`])]
}

function summary(checks: readonly Check[]): string {
  const count = (state: Check['state'], word: string) => {
    const number = checks.filter((check) => check.state === state).length
    return number === 0 ? [] : [`${number} ${number === 1 ? word : `${word}s`}`]
  }
  const parts = [...count('problem', 'problem'), ...count('warning', 'warning')]
  return parts.length === 0 ? 'Nothing is in the way.' : `${parts.join(', ')}.`
}
