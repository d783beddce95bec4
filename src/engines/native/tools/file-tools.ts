import { bashTool } from './bash.ts'
import { makeEditTool } from './edit.ts'
import { makeReadTool } from './read.ts'
import { globTool, grepTool } from './search.ts'
import type { SeenFiles } from './seen.ts'
import type { AgentTool } from './tool.ts'
import { makeWriteTool } from './write.ts'

/** The tools of one conversation; they share the files that it has seen. */
export function makeFileTools(seen: SeenFiles): readonly AgentTool[] {
  const tools = [makeReadTool(seen), makeWriteTool(seen), makeEditTool(seen)]
  return [...tools, bashTool, grepTool, globTool]
}
