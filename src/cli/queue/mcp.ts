import { serve } from '../../mcp/serve.ts'
import { queueTools } from '../../mcp/queue/tools.ts'
import { taskTools } from '../../mcp/task-tools.ts'
import { VERSION } from '../../setup/version.ts'
import type { Input } from '../command.ts'
import { projectOf } from '../project.ts'
import { StopSwitch } from '../signals.ts'
import { placesOf } from '../tasks/database.ts'
import { McpDoor } from './mcp-door.ts'

const INSTRUCTIONS =
  'Sub-agents: push tasks, run starts them, receive waits for their results. ' +
  'task_…: tasks shared with other agents. Work: task_next with claim, do it, task_edit with checkAc ' +
  'and status done; if stuck, status blocked and appendNotes. Ids may be written 7 or TASK-007.'

/** The verb `mcp`. */
export async function serveMcp(input: Input): Promise<number> {
  projectOf(input)
  const stopSwitch = new StopSwitch()
  const onBug = (error: unknown) => console.error(error)
  const door = new McpDoor(input, stopSwitch, onBug)
  stopSwitch.listen(() => undefined)
  const tasks = taskTools(
    { places: () => placesOf(input), as: input.text('as'), env: process.env },
    'task_',
  )
  await serve({
    name: 'forkhestra',
    version: VERSION,
    instructions: INSTRUCTIONS,
    tools: [...queueTools(door), ...tasks],
    stop: stopSwitch.stop,
    onBug,
  })
  await door.close()
  return 0
}
