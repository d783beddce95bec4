import { serve } from '../../mcp/serve.ts'
import { queueTools } from '../../mcp/queue-tools.ts'
import { taskTools } from '../../mcp/task-tools.ts'
import { VERSION } from '../../host/version.ts'
import type { Input } from '../command.ts'
import { projectOf } from '../front-end.ts'
import { StopSwitch } from '../../host/stop-switch.ts'
import { projectFolder } from '../tasks/database.ts'
import { McpQueueProvider } from '../../host/queue/mcp-provider.ts'
import { queueRequest } from './arguments.ts'

const INSTRUCTIONS =
  'Sub-agents: push tasks, run starts them, receive waits for their results. ' +
  'task_…: tasks shared with other agents. Work: task_next with claim, do it, task_edit with checkAc ' +
  'and status done; if stuck, status blocked and appendNotes. Ids may be written 7 or TASK-007.'

export async function serveMcp(input: Input): Promise<number> {
  const request = queueRequest(input)
  projectOf(input)
  const stopSwitch = new StopSwitch()
  const onBug = (error: unknown) => console.error(error)
  const mayKill = input.flag('kill-orphans')
  const provider = new McpQueueProvider({ request, mayKill, stop: stopSwitch, onBug })
  stopSwitch.listen(() => undefined)
  const tasks = taskTools(
    { project: () => projectFolder(input), as: input.text('as'), env: process.env },
    'task_',
  )
  await serve({
    name: 'forkhestra',
    version: VERSION,
    instructions: INSTRUCTIONS,
    tools: [...queueTools(provider), ...tasks],
    stop: stopSwitch.stop,
    onBug,
  })
  await provider.close()
  return 0
}
