import { join } from 'node:path'
import { UserError } from '../../base/errors.ts'
import { readTextFile, statOf } from '../../base/files.ts'
import { BUILT_IN_AGENTS } from '../../chain/builtins/agents.ts'
import { findSpecs, STARTER_SPECS } from '../../chain/builtins/specs.ts'
import type { ChainsConfig } from '../../chain/parse/chains-schema.ts'
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
    const configuration = await checkConfiguration(project, config, leniently(facts), env)
    const { file, content } = configuration
    const text =
      file === undefined
        ? 'none; the built-in agents and chains work without one'
        : `${file} is valid: ${describeSize(content)}`
    return { check: ok('configuration', text), configuration }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const [first, ...more] = error.problems
    const rest = more.length === 0 ? '' : ` (and ${more.length} more)`
    const next = 'Run forkhestra validate and fix what it reports.'
    return { check: problem('configuration', `${first?.message}${rest}`, next) }
  }
}

/** Ignores problems with `claude` and root, which have separate checks. */
function leniently(facts: Facts): Facts {
  return {
    ...facts,
    mustAsk: false,
    programOnPath: (name) =>
      name === 'claude' ? { kind: 'program', path: name } : facts.programOnPath(name),
  }
}

/** Whether the chains of a project, or its agents if it has no chains, need `claude`. */
export function needsClaude(content: ChainsConfig, cwd: string, facts: Facts): boolean {
  const { chains, agents = {} } = content
  const files = reachableFiles(content, cwd, facts)
  const inChains = Object.values(chains).flatMap(({ steps }) => steps.map(({ agent }) => agent))
  const used = inChains.length > 0 ? inChains : Object.keys(agents)
  const configOf = (name: string) => (Object.hasOwn(agents, name) ? agents[name]! : {})
  const isDirect = (name: string) =>
    files.has(name) || Object.hasOwn(BUILT_IN_AGENTS, name) || isDirectSpawnAgent(configOf(name))
  const needsIt = (name: string) => isDirect(name) && configOf(name).engine !== 'native'
  return used.length === 0 || used.some(needsIt)
}

/** The agent files of Claude Code, if there are any. */
export function checkAgentFiles(content: ChainsConfig, cwd: string, facts: Facts): Check[] {
  const [first, ...more] = fileProblems(cwd, facts)
  if (first !== undefined) {
    const rest = more.length === 0 ? '' : ` (and ${more.length} more)`
    return [problem('agents', `${first.message}${rest}`, first.hint ?? 'Run: forkhestra validate')]
  }
  const files = reachableFiles(content, cwd, facts)
  return files.size === 0 ? [] : [ok('agents', describeFiles(files))]
}

export function checkSpecs(cwd: string): Check {
  const isFile = (path: string) => statOf(join(cwd, path))?.isFile() ?? false
  const folder = findSpecs('forge/orch/specs', isFile)
  if (folder === undefined) {
    const text = 'none, so planner and the chains build-all and plan cannot start'
    return warning('specs', text, 'Run: forkhestra init')
  }
  const blank = Object.entries(STARTER_SPECS).filter(([path, template]) => {
    const file = readTextFile(join(cwd, path), template.length * 4)
    return file.kind === 'text' && file.text === template
  })
  if (blank.length === 0) return ok('specs', `in ${folder}`)
  const names = blank.map(([path]) => path).join(', ')
  return warning('specs', 'still the templates of forkhestra init', `Fill in ${names}`)
}

export function checkTasks(cwd: string, env: FrontEnd['env']): Check {
  const database = new TaskDatabase({ cwd, env, isObserver: true })
  if (statOf(database.folder) === undefined) return ok('tasks', 'none yet')
  try {
    const findings = database.doctor()
    const [first] = findings
    if (first === undefined) return ok('tasks', 'all files are valid')
    const rest = findings.length === 1 ? '' : ` (and ${findings.length - 1} more)`
    return problem(
      'tasks',
      `${first.file}: ${first.problem}${rest}`,
      'Run: forge-tasks doctor --fix',
    )
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return problem('tasks', error.message, error.hint ?? 'Run: forge-tasks doctor')
  }
}
