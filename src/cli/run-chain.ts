import { UserError } from '../base/errors.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import type { Stamp } from '../events/event.ts'
import type { Facts } from '../plan/facts.ts'
import { makeLaunch } from '../plan/launch.ts'
import { makePlan } from '../plan/make-plan.ts'
import { builtInVariables, stepsOf, type Plan } from '../plan/plan.ts'
import { VERSION } from '../setup/version.ts'
import type { Input } from './command.ts'
import { makeIdentity } from './identity.ts'
import { loadConfiguration, resolveCwd } from '../setup/configuration.ts'
import { lookAround } from '../setup/facts.ts'
import { ownFolder } from '../setup/own-folder.ts'
import { makeRequest } from './request.ts'

/** The verb `run`: from what was typed to the exit code. */
export async function runChain(input: Input): Promise<number> {
  if (input.flag('version')) {
    console.log(VERSION)
    return 0
  }
  const { run, stamp } = makeIdentity()
  const cwd = resolveCwd(input.text('cwd'))
  const env = makeAgentEnvironment(process.env, ownFolder())
  checkDepth(env['FORKHESTRA_RUN_PATH'])
  const facts = lookAround(env)
  const configuration = await loadConfiguration(cwd, input.text('config'), process.env)
  const { plan, warnings } = makePlan(makeRequest(input, run, cwd, configuration, facts), facts)
  if (input.flag('dry-run')) return showPlan(plan, warnings, facts, input, stamp)
  const { carryOut } = await import('./carry-out.ts')
  const [verbose, json] = [input.flag('verbose'), input.flag('json')]
  return carryOut(plan, warnings, { env, stamp, verbose, json })
}

/** So deep only a chain that calls itself gets. */
const DEEPEST = 16

function checkDepth(path: string | undefined): void {
  const depth = path === undefined ? 0 : path.split(':').length
  if (depth < DEEPEST) return
  throw new UserError(
    `This run would be inside of ${depth} other runs.`,
    'Look for an agent that starts the chain which starts it.',
  )
}

async function showPlan(
  plan: Plan,
  warnings: readonly string[],
  facts: Facts,
  input: Input,
  stamp: Stamp,
): Promise<number> {
  const steps = stepsOf(plan.root).map((step) => {
    const values = builtInVariables(plan.run, step, 1)
    const asWritten = { asWritten: true }
    const { launch, args, prompt } = makeLaunch(step, values, facts.readPrompt, asWritten)
    return {
      step: step.number,
      agent: step.agent.name,
      kind: step.agent.engine,
      ...(step.loop === undefined ? {} : { maxIterations: step.loop }),
      args: [...args],
      ...(prompt === undefined ? {} : { prompt }),
      argv: [...launch.argv],
    }
  })
  for (const warning of warnings) console.error(`[forkhestra] Warning: ${warning}`)
  if (input.flag('json')) {
    console.log(JSON.stringify(stamp({ type: 'dry_run', steps })))
    return 0
  }
  const { renderDryRun } = await import('../views/dry-run.ts')
  console.log(renderDryRun(steps, input.flag('verbose')))
  return 0
}
