import { makeBashTool } from './bash.ts'
import { makeEditTool } from './edit.ts'
import { makeGlobTool } from './glob.ts'
import { makeGrepTool } from './grep.ts'
import { makeReadTool } from './read.ts'
import type { SeenFiles } from './seen.ts'
import type { AgentTool } from './tool.ts'
import { makeWriteTool } from './write.ts'

/** The tools of one conversation; they share the files that it has seen. */
export function makeFileTools(seen: SeenFiles): readonly AgentTool[] {
  return [
    makeReadTool(seen),
    makeWriteTool(seen),
    makeEditTool(seen),
    makeBashTool(),
    makeGrepTool(),
    makeGlobTool(),
  ]
}
