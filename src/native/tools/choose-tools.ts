import { mayUse, type ToolLists } from '../../engines/tool-names.ts'
import type { AgentTool } from './tool.ts'

/** Those that an agent's lists let it have, in the same order. */
export function chooseTools(tools: readonly AgentTool[], lists: ToolLists): readonly AgentTool[] {
  return tools.filter(({ name }) => mayUse(name, lists))
}
