import { recordPlaces } from '../journal/record-folder.ts'
import { UserError } from '../base/errors.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import { makePlan } from '../plan/make-plan.ts'
import { keyWarnings } from '../plan/native-agent.ts'
import { checkTasks } from '../plan/task-verdict.ts'
import { makeTaskPort } from '../setup/task-port.ts'
import { VERSION } from '../setup/version.ts'
import type { Input } from './command.ts'
import { makeIdentity } from './identity.ts'
import { lookAround } from '../setup/facts.ts'
import { ownFolder } from '../setup/own-folder.ts'
import { configurationFor, projectOf } from './project.ts'
import { makeRequest } from './request.ts'
import { takeWorkingTree } from './working-tree.ts'

/** The verb `run`: from what was typed to the exit code. */
export async function runChain(input: Input): Promise<number> {
  if (input.flag('version')) {
    console.log(VERSION)
    return 0
  }
  const { run, stamp } = makeIdentity()
  const project = projectOf(input)
  const env = makeAgentEnvironment(process.env, ownFolder())
  checkDepth(env['FORKHESTRA_RUN_PATH'])
  const facts = lookAround(env)
  const configuration = await configurationFor(input, project)
  const isDry = input.flag('dry-run')
  // Nobody is asked anything: a key that is missing is worth a word, and no more.
  const known = isDry ? { ...facts, hasVariable: () => true } : facts
  const { plan, warnings } = makePlan(makeRequest(input, run, project, configuration, known), known)
  const tasks = makeTaskPort(plan.cwd, plan.run, env)
  checkTasks(plan, tasks, warnings)
  if (isDry) {
    const { showPlan } = await import('./show-plan.ts')
    return showPlan(
      plan,
      [...warnings, ...keyWarnings(plan, facts)],
      facts,
      tasks,
      input,
      stamp,
      env,
    )
  }
  const { carryOut } = await import('./carry-out.ts')
  const { dealWithOrphans } = await import('./orphans.ts')
  const [verbose, json] = [input.flag('verbose'), input.flag('json')]
  const seat = takeWorkingTree(plan, input)
  try {
    const places = recordPlaces(project, process.env)
    const orphans = await dealWithOrphans(places, input.flag('kill-orphans'))
    return await carryOut(plan, [...warnings, ...orphans], {
      env,
      stamp,
      verbose,
      json,
      agents: configuration.content.agents ?? {},
      content: configuration.content,
    })
  } finally {
    seat.leave()
  }
}

/** So deep only a chain that calls itself gets. */
const DEEPEST = 16

/** Refuses a run that is inside of too many others. */
export function checkDepth(path: string | undefined): void {
  const depth = path === undefined ? 0 : path.split(':').length
  if (depth < DEEPEST) return
  throw new UserError(
    `This run would be inside of ${depth} other runs.`,
    'Look for an agent that starts the chain which starts it.',
  )
}
