import { join } from 'node:path'
import { UserError, type Problem } from '../../base/errors.ts'
import { SCRIPTED_MODEL } from '../../base/scripted-model.ts'
import { keyVariables, VARIABLES } from '../../engines/native/model-names.ts'
import {
  findSpecs,
  isUnfilled,
  REQUIREMENTS,
  requirementsMissing,
  specsMissing,
  specsUnfilled,
  type SpecsFolder,
} from '../builtins/specs.ts'
import type { Phases } from '../parse/prompt/phases.ts'
import { readPhases, taskPlace } from '../prompts/read-phases.ts'
import { plansTasks } from './agent-role.ts'
import type { Facts } from './facts.ts'
import { stepsOf, type Plan, type StepNode } from './plan.ts'
import { collect } from './problems.ts'
import { findBuiltIn, isBuiltIn, type Known } from './resolve-agent.ts'

/** A built-in planner needs specs. */
export function checkSpecs(name: string, known: Known, facts: Facts): void {
  const builtIn = isBuiltIn(name, known, facts) ? findBuiltIn(name) : undefined
  if (builtIn?.plans !== true) return
  const { folder, isFilled } = lookAtSpecs(builtIn.specs, known, facts)
  if (folder === undefined) throw specsMissing(name, builtIn.specs)
  if (!isFilled) throw specsUnfilled(name, folder)
}

/** A task manager needs a prompt or specs, unless an earlier step may write them. */
export function checkRequirements(
  { agent, number, prompt }: StepNode,
  known: Known,
  facts: Facts,
): void {
  const isManager = agent.engine !== 'binary' && agent.isBundled === true && plansTasks(agent)
  if (!isManager || number > 1 || prompt.length > 0) return
  if (!lookAtSpecs('forge/orch/specs', known, facts).isFilled) {
    throw requirementsMissing(agent.name)
  }
}

function lookAtSpecs(wanted: SpecsFolder, { cwd }: Known, facts: Facts) {
  const fileExists = (path: string) => facts.fileExists(join(cwd, path))
  const folder = findSpecs(wanted, fileExists)
  const isFilled = REQUIREMENTS.map((file) => `${folder}/${file}`).some(
    (path) => fileExists(path) && !isUnfilled(path, facts.readPrompt(path, cwd)),
  )
  return { folder, isFilled }
}

/** The key is set, but `fake-model` has hidden it. */
export const HIDDEN_KEY = {
  message: '"limit" in the script simulates a subscription, which has no API key',
  hint: 'Use "error" instead, which native agents wait for too: { "error": { "status": 429, "headers": { "retry-after": "20" } } }',
}

/** `fake-model` hides the user's login, and provides one only if the script has a "limit". */
export function isKeyHidden(keys: readonly string[], facts: Pick<Facts, 'hasVariable'>): boolean {
  const isSubscription =
    facts.hasVariable(SCRIPTED_MODEL) && facts.hasVariable('CLAUDE_CODE_OAUTH_TOKEN')
  return isSubscription && keys.includes('ANTHROPIC_API_KEY')
}

/** Refuses a missing API key before the run starts. */
export function checkKey(
  { agent, policy }: Pick<StepNode, 'agent' | 'policy'>,
  facts: Facts,
): void {
  if (agent.engine !== 'native') return
  const names = keyVariables(agent)
  const isSet = (name: string) => Boolean(policy.env[name]?.trim()) || facts.hasVariable(name)
  if (names.length === 0 || names.some(isSet)) return
  if (isKeyHidden(names, facts)) {
    throw new UserError(
      `Agent '${agent.name}' needs an API key, and ${HIDDEN_KEY.message}.`,
      HIDDEN_KEY.hint,
    )
  }
  const [first] = names
  const others = Object.values(VARIABLES).flatMap(({ keys: [key] }) => key ?? [])
  const rest = others.filter((name) => !names.includes(name)).join(' or ')
  throw new UserError(
    `Agent '${agent.name}' uses ${agent.model}, but ${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} not set.`,
    `Set it: export ${first}=…, or choose a model of another provider and set ${rest}. See: forkhestra doctor`,
  )
}

/** Missing API keys as warnings, for a check without a run. */
export function keyWarnings({ root }: Pick<Plan, 'root'>, facts: Facts): string[] {
  const problems: Problem[] = []
  for (const step of stepsOf(root)) collect(problems, () => checkKey(step, facts))
  return [...new Set(problems.map(({ message }) => message))]
}

/**
 * Problems with the agents of tasks, including nested ones, that a prompt queues; each agent is reported once.
 * `resolve` throws a `UserError` for an agent that does not exist.
 */
export function findTaskProblems(
  phases: Phases,
  where: string,
  resolve: (agent: string) => void,
): Problem[] {
  const seen = new Set<string>()
  const look = (agent: string) => {
    if (seen.has(agent)) return []
    seen.add(agent)
    const found: Problem[] = []
    collect(found, () => resolve(agent))
    return found
  }
  return findAll(phases, where, look)
}

function findAll(
  { setup, teardown }: Phases,
  where: string,
  look: (agent: string) => readonly Problem[],
): Problem[] {
  return [...setup, ...teardown].flatMap((command) => {
    if (command.kind !== 'push') return []
    const place = taskPlace(command, where)
    const own = command.agent === undefined ? [] : look(command.agent)
    return [
      ...own.map(({ message, hint }) => ({ message: `${place}  ${message}`, hint })),
      ...findAll(readPhases([command.prompt], place), place, look),
    ]
  })
}
