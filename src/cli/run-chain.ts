import { UserError } from '../base/errors.ts'
import { makeRunId, randomLetters } from '../base/ids.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import { makeStamp, type Stamp } from '../events/event.ts'
import type { Facts } from '../plan/facts.ts'
import { makeLaunch } from '../plan/launch.ts'
import { makePlan } from '../plan/make-plan.ts'
import { builtInVariables, stepsOf, type Plan } from '../plan/plan.ts'
import { VERSION } from './version.ts'
import type { Input } from './command.ts'
import { loadConfiguration, resolveCwd } from './configuration.ts'
import { lookAround } from './facts.ts'
import { ownFolder } from './own-folder.ts'
import { makeRequest } from './request.ts'

/** The verb `run`: from what was typed to the exit code. */
export async function runChain(input: Input): Promise<number> {
  if (input.flag('version')) {
    console.log(VERSION)
    return 0
  }
  const run = makeRunId(new Date())
  const stamp = makeStamp(run, `w-${randomLetters(6)}`)
  try {
    const cwd = resolveCwd(input.text('cwd'))
    const env = makeAgentEnvironment(process.env, ownFolder(), cwd)
    const facts = lookAround(env['PATH'])
    const configuration = await loadConfiguration(cwd, input.text('config'), process.env)
    const { plan, warnings } = makePlan(makeRequest(input, run, cwd, configuration, facts), facts)
    if (input.flag('dry-run')) return await showPlan(plan, warnings, facts, input, stamp)
    const { carryOut } = await import('./carry-out.ts')
    return await carryOut(plan, warnings, {
      env,
      stamp,
      verbose: input.flag('verbose'),
      json: input.flag('json'),
    })
  } catch (error) {
    if (error instanceof UserError && input.flag('json')) {
      const { exitCode, message, hint } = error
      const reason = { exitCode, message, ...(hint === undefined ? {} : { hint }) }
      console.log(JSON.stringify(stamp({ type: 'run_refused', ...reason })))
    }
    throw error
  }
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
    const { launch, prompt } = makeLaunch(step, values, facts.readPrompt, { asWritten: true })
    const { number, agent, loop } = step
    const args = launch.argv.slice(launch.argv.length - step.args.length - (prompt ? 1 : 0))
    return {
      number,
      agent: agent.name,
      kind: agent.engine,
      ...(loop === undefined ? {} : { loop }),
      args: prompt === undefined ? args : args.slice(0, -1),
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
