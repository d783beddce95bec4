import { keyWarnings } from '../chain/plan/checks.ts'
import { planRun } from '../host/plan-run.ts'
import { openTargets } from '../host/notify/targets.ts'
import { recordPlaces } from '../records/journal/record-folder.ts'
import type { Input } from './command.ts'
import { checkDepth, makeIdentity } from '../host/identity.ts'
import { readFacts } from '../host/facts.ts'
import { agentEnvironment } from '../host/own-folder.ts'
import { configurationFor, frontEndOf } from './front-end.ts'
import { makeRequest } from './request.ts'

/** The command `run`: from what was typed to the exit code. */
export async function runChain(input: Input): Promise<number> {
  const frontEnd = frontEndOf(input)
  const { project } = frontEnd
  const { run, stamp } = makeIdentity(recordPlaces(project, frontEnd.env))
  const env = agentEnvironment(process.env)
  checkDepth(env['FORKHESTRA_RUN_PATH'])
  const facts = readFacts(env)
  const configuration = await configurationFor(input, project)
  const isDry = input.flag('dry-run')
  // A dry run calls no model, so a missing key is only a warning.
  const known = isDry ? { ...facts, hasVariable: () => true } : facts
  const request = makeRequest(input, run, project, configuration, known)
  const { plan, warnings, tasks } = await planRun(request, known, env)
  if (isDry) {
    const { showPlan } = await import('./show-plan.ts')
    const unsent = openTargets(plan.notify ?? [], env).warnings
    const all = [...warnings, ...keyWarnings(plan, facts), ...unsent]
    return showPlan({ plan, facts, tasks, env }, all, input, stamp)
  }
  const { content } = configuration
  const session = { env, stamp, agents: content.agents ?? {}, content }
  const admission = { anyway: input.flag('anyway'), killOrphans: input.flag('kill-orphans') }
  const { startInWorkingTree } = await import('../host/working-tree.ts')
  const { runInTerminal, viewOptions } = await import('./run-in-terminal.ts')
  const options = { ...viewOptions(input), mentionsQueues: true }
  return startInWorkingTree({ plan, warnings, session }, admission, frontEnd, (ready) =>
    runInTerminal(ready, options),
  )
}
