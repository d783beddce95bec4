import { makeAgentEnvironment } from '../../engines/environment.ts'
import { resolveAgent } from '../../plan/resolve-agent.ts'
import { lookAround } from '../../setup/facts.ts'
import { ownFolder } from '../../setup/own-folder.ts'
import type { Input } from '../command.ts'
import { projectOf } from '../project.ts'
import { findCaller } from './caller.ts'
import { configurationOf } from './configuration.ts'
import { planIn } from './store.ts'

/** Refuses an agent that could not be found when its task is started, before anything is queued. */
export async function checkAgent(input: Input, name: string): Promise<void> {
  const caller = findCaller(input)
  const { cwd = projectOf(input).folder, configuration } =
    caller === undefined ? {} : planIn(caller.record)
  const { content, base } = await configurationOf({ cwd, configuration })
  const { agents = {}, prices } = content
  const known = { agents, cwd, base: cwd, agentBase: base, ...(prices && { prices }) }
  resolveAgent(name, known, lookAround(makeAgentEnvironment(process.env, ownFolder())))
}
