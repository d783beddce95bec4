import type { NativeAgent } from '../../engines/engine.ts'
import { toolNames } from '../../engines/native-tools.ts'
import { QUEUE_TOOLS } from '../../engines/tool-names.ts'
import type { AgentIo } from '../io.ts'
import type { Seen } from './seen.ts'
import type { AgentTool } from './tool.ts'

/** The tools that an agent gets, in the order in which its model is told of them. */
export async function makeTools(
  agent: NativeAgent,
  seen: Seen,
  { queue, alive }: Pick<AgentIo, 'queue' | 'alive'>,
): Promise<AgentTool[]> {
  const names = toolNames(agent, queue !== undefined)
  const { makeFileTools } = await import('./file-tools.ts')
  const needsVerbs = names.some((name) => QUEUE_TOOLS.includes(name))
  // A further library, which checks the input of the verbs.
  const ofQueue =
    queue !== undefined && needsVerbs
      ? (await import('./verb-tool.ts')).verbTools(queue, alive)
      : []
  const all = new Map([...makeFileTools(seen), ...ofQueue].map((tool) => [tool.name, tool]))
  return names.flatMap((name) => all.get(name) ?? [])
}
