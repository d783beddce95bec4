import { join } from 'node:path'
import { UserError } from '../../base/errors.ts'
import { readTextFile, statOf } from '../../base/files.ts'
import { BUILT_IN_AGENTS } from '../../chain/builtins/agents.ts'
import { findSpecs, isUnfilled, REQUIREMENTS } from '../../chain/builtins/specs.ts'
import type { ChainsConfig } from '../../chain/parse/chains-schema.ts'
import { agentSteps } from '../../chain/parse/items.ts'
import type { Facts } from '../../chain/plan/facts.ts'
import { isDirectSpawnAgent } from '../../chain/prompts/system-prompt.ts'
import type { Configuration } from '../configuration.ts'
import type { Project } from '../project.ts'
import { TaskDatabase } from '../../tasks/database.ts'
import {
  checkConfiguration,
  describeSize,
  describeFiles,
  fileProblems,
  reachableFiles,
} from '../check-configuration.ts'
import type { FrontEnd } from '../front-end.ts'
import { ok, problem, warning, type Check } from './check.ts'

/** Checks the configuration, and returns it for further checks. */
export async function checkChains(
  project: Project,
  config: string | undefined,
  facts: Facts,
  env: FrontEnd['env'],
): Promise<{ readonly check: Check; readonly configuration?: Configuration }> {
  try {
    const configuration = await checkConfiguration(project, config, ignoringClaude(facts), env)
    const { file, content } = configuration
    const text =
      file === undefined
        ? 'none; the built-in agents and chains work without one'
        : `${file} is valid: ${describeSize(content)}`
    return { check: ok('configuration', text), configuration }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const text = firstOf(error.problems.map(({ message }) => message))
    const next = 'Run forkhestra validate and fix what it reports.'
    return { check: problem('configuration', text, next) }
  }
}

/** Ignores problems with `claude` and root, which have separate checks. */
function ignoringClaude(facts: Facts): Facts {
  return {
    ...facts,
    mustAsk: false,
    programOnPath: (name) =>
      name === 'claude' ? { kind: 'program', path: name } : facts.programOnPath(name),
  }
}

/** Whether the project's chains, or without any chains its agents, need `claude`. */
export function needsClaude(content: ChainsConfig, cwd: string, facts: Facts): boolean {
  const { chains, agents = {} } = content
  const files = reachableFiles(content, cwd, facts)
  const inChains = Object.values(chains).flatMap(({ steps }) =>
    agentSteps(steps).map(({ agent }) => agent),
  )
  const used = inChains.length > 0 ? inChains : Object.keys(agents)
  const configOf = (name: string) => (Object.hasOwn(agents, name) ? agents[name]! : {})
  const isDirect = (name: string) =>
    files.has(name) || Object.hasOwn(BUILT_IN_AGENTS, name) || isDirectSpawnAgent(configOf(name))
  const needsIt = (name: string) => isDirect(name) && configOf(name).engine !== 'native'
  return used.length === 0 || used.some(needsIt)
}

/** The agent files of Claude Code, if there are any. */
export function checkAgentFiles(content: ChainsConfig, cwd: string, facts: Facts): Check[] {
  const problems = fileProblems(cwd, facts)
  if (problems.length > 0) {
    const text = firstOf(problems.map(({ message }) => message))
    return [problem('agents', text, problems[0]?.hint ?? 'Run: forkhestra validate')]
  }
  const files = reachableFiles(content, cwd, facts)
  return files.size === 0 ? [] : [ok('agents', describeFiles(files))]
}

/** Larger than any template, so not a template and not empty. */
const MOST_UNFILLED = 64 * 1024

export function checkSpecFiles(cwd: string): Check {
  const isFile = (path: string) => statOf(join(cwd, path))?.isFile() ?? false
  const folder = findSpecs('forge/orch/specs', isFile)
  if (folder === undefined) {
    const text = 'none, so planner and the chains build-all and plan cannot start'
    return warning('specs', text, 'Run: forkhestra init')
  }
  const unfilled = [...REQUIREMENTS, 'AGENTS.md']
    .map((name) => `${folder}/${name}`)
    .filter((path) => {
      const file = readTextFile(join(cwd, path), MOST_UNFILLED)
      return file.kind === 'text' && isUnfilled(path, file.text)
    })
  if (unfilled.length === 0) return ok('specs', `in ${folder}`)
  return warning(
    'specs',
    'empty, or still the unedited templates of forkhestra init',
    `Fill in ${unfilled.join(', ')}`,
  )
}

export function checkTaskFiles(cwd: string, env: FrontEnd['env']): Check {
  const database = new TaskDatabase({ cwd, env, isObserver: true })
  if (statOf(database.folder) === undefined) return ok('tasks', 'none yet')
  try {
    const findings = database.doctor().map((found) => `${found.file}: ${found.problem}`)
    if (findings.length === 0) return ok('tasks', 'all files are valid')
    return problem('tasks', firstOf(findings), 'Run: forge-tasks doctor --fix')
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return problem('tasks', error.message, error.hint ?? 'Run: forge-tasks doctor')
  }
}

function firstOf([first = '', ...more]: readonly string[]): string {
  return more.length === 0 ? first : `${first} (and ${more.length} more)`
}
