import { makeAgentEnvironment } from '../engines/environment.ts'
import { makePlan } from '../chain/plan/make-plan.ts'
import { keyWarnings } from '../chain/plan/checks.ts'
import { checkTasks } from '../chain/plan/task-verdict.ts'
import { makeTaskPort } from '../host/task-port.ts'
import type { Input } from './command.ts'
import { checkDepth, makeIdentity } from '../host/identity.ts'
import { readFacts } from '../host/facts.ts'
import { ownFolder } from '../host/own-folder.ts'
import { configurationFor, frontEndOf } from './front-end.ts'
import { makeRequest } from './request.ts'

/** The command `run`: from what was typed to the exit code. */
export async function runChain(input: Input): Promise<number> {
  const { run, stamp } = makeIdentity()
  const frontEnd = frontEndOf(input)
  const { project } = frontEnd
  const env = makeAgentEnvironment(process.env, ownFolder())
  checkDepth(env['FORKHESTRA_RUN_PATH'])
  const facts = readFacts(env)
  const configuration = await configurationFor(input, project)
  const isDry = input.flag('dry-run')
  // A dry run asks no model, so a missing key is only a warning.
  const known = isDry ? { ...facts, hasVariable: () => true } : facts
  const { plan, warnings } = makePlan(makeRequest(input, run, project, configuration, known), known)
  const tasks = makeTaskPort(plan.cwd, plan.run, env)
  await checkTasks(plan, tasks, warnings)
  if (isDry) {
    const { showPlan } = await import('./show-plan.ts')
    const all = [...warnings, ...keyWarnings(plan, facts)]
    return showPlan(plan, all, facts, tasks, input, stamp, env)
  }
  const { startRun } = await import('./run-in-terminal.ts')
  const { content } = configuration
  const session = { env, stamp, agents: content.agents ?? {}, content }
  return startRun(input, frontEnd, { plan, warnings, session })
}
