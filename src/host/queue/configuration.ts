import { UserError } from '../../base/errors.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import type { Agents } from '../../chain/plan/resolve-agent.ts'
import { loadConfiguration, type Configuration } from '../configuration.ts'
import type { FrontEnd } from '../front-end.ts'

interface Given {
  readonly configuration?: Plan['configuration'] | undefined
}

/** The current configuration of a run; its plan has only the agents of its steps. */
export async function configurationOf(
  { cwd, configuration }: Pick<Plan, 'cwd'> & Given,
  env: FrontEnd['env'],
): Promise<Configuration> {
  const usual = await loadConfiguration(cwd, undefined, env)
  const isUsual = configuration === undefined || usual.file === configuration.file
  return isUsual ? usual : loadConfiguration(cwd, configuration.file, env)
}

/** What `resolveAgent` needs to find an agent of this configuration. */
export function knownIn({ content, base }: Configuration, cwd: string) {
  const { agents = {}, prices } = content
  return { agents, cwd, base: cwd, agentBase: base, ...(prices && { prices }) }
}

/** No agents if it cannot be read: the error is reported when one is needed. */
export async function agentsOf(plan: Plan, env: FrontEnd['env']): Promise<Agents> {
  try {
    return (await configurationOf(plan, env)).content.agents ?? {}
  } catch (error) {
    if (error instanceof UserError) return {}
    throw error
  }
}
