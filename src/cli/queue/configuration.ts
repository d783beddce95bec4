import { UserError } from '../../base/errors.ts'
import type { Plan } from '../../plan/plan.ts'
import type { Agents } from '../../plan/resolve-agent.ts'
import { loadConfiguration, type Configuration } from '../../setup/configuration.ts'

/** The configuration of a run as it is now; the plan holds only the agents of its steps. */
export async function configurationOf({
  cwd,
  configuration,
}: Pick<Plan, 'cwd'> & {
  readonly configuration?: Plan['configuration'] | undefined
}): Promise<Configuration> {
  const usual = await loadConfiguration(cwd, undefined, process.env)
  const isUsual = configuration === undefined || usual.file === configuration.file
  return isUsual ? usual : loadConfiguration(cwd, configuration.file, process.env)
}

/** Its agents; none where it cannot be read: whoever needs one of them is told then. */
export async function agentsOf(plan: Plan): Promise<Agents> {
  try {
    return (await configurationOf(plan)).content.agents ?? {}
  } catch (error) {
    if (error instanceof UserError) return {}
    throw error
  }
}
