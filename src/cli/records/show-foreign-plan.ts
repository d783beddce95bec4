import { NotNow, UserError, errorText } from '../../base/errors.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { mapSteps, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import { readFacts } from '../../host/facts.ts'
import { stampFor } from '../../host/identity.ts'
import { agentEnvironment } from '../../host/own-folder.ts'
import { makeTaskPort } from '../../host/task-port.ts'
import type { Input } from '../command.ts'
import { projectOf } from '../front-end.ts'
import { showPlan } from '../show-plan.ts'
import { allSteps } from '../../host/plan-texts.ts'
import { DamagedPlan, readRecordedPlan } from '../../host/records/recorded-plan.ts'

/** Shows what a foreign run would do. No file that its plan names is read. */
export async function showForeignPlan({ id, folder }: RunBrief, input: Input): Promise<void> {
  try {
    const plan = readRecordedPlan(folder)
    if (plan === undefined) throw new UserError('it has none')
    const env = agentEnvironment(process.env)
    const facts = { ...readFacts(env), readPrompt: (path: string) => `(the content of ${path})` }
    const tasks = makeTaskPort(projectOf(input).folder, id, env)
    const stamp = stampFor(id)
    const inFull: Input = { ...input, flag: (name) => name === 'verbose' || input.flag(name) }
    const toShow = { plan: withoutCommands(plan), facts, tasks, env }
    await showPlan(toShow, placeLines(plan), inFull, stamp)
  } catch (error) {
    if (error instanceof DamagedPlan) throw error
    throw new NotNow(
      `The plan of run ${id} cannot be shown: ${errorText(error)}.`,
      'A run whose plan cannot be shown is not resumed.',
    )
  }
}

/** What a dry run leaves out, because the user typed it. */
function placeLines(plan: Plan): string[] {
  const variables = allSteps(plan).flatMap(({ number, policy }) =>
    Object.entries(policy.env).map(([name, value]) => `step ${number} sets ${name}=${value}`),
  )
  return [
    `nothing is started: this is the plan of run ${plan.run}, which works in ${plan.cwd}`,
    ...variables,
  ]
}

/** Shows prompts as they are, without reading the files that they name. */
function withoutCommands(plan: Plan): Plan {
  const plain = (step: StepNode): StepNode => ({ ...step, rawPrompt: true })
  return { ...plan, root: mapSteps(plan.root, plain), recoveries: plan.recoveries.map(plain) }
}
