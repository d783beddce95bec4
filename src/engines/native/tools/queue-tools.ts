import { z } from 'zod'
import { errorWithHint, UserError } from '../../../base/errors.ts'
import { toolBrief } from '../../tool-brief.ts'
import type { QueueProvider } from '../../../queue/tools/provider.ts'
import { callTool, type QueueTool } from '../../../queue/tools/tool.ts'
import { TOOLS } from '../../../queue/tools/tools.ts'
import { withoutNulls } from './make-tool.ts'
import { fail } from './problems.ts'
import type { AgentTool, ToolAnswer } from './tool.ts'

/** The queue and inbox tools in the form that the built-in agent needs. */
export function makeQueueTools(provider: QueueProvider, alive: () => void): AgentTool[] {
  return TOOLS.map((tool) => asAgentTool(tool, provider, alive))
}

function asAgentTool(tool: QueueTool, provider: QueueProvider, alive: () => void): AgentTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(tool.input, { io: 'input' })
  return {
    name: tool.name,
    description: tool.description,
    inputSchema,
    brief: toolBrief,
    async call(given, _workplace, signal) {
      const { data, error } = tool.input.safeParse(withoutNulls(given))
      if (data === undefined) return fail(z.prettifyError(error))
      try {
        const { json, finish } = await callTool(tool, data, provider, { signal, progress: alive })
        if (finish === undefined) return answerWith(json)
        const onAbort = () => void finish(false).catch(() => undefined)
        signal.addEventListener('abort', onAbort, { once: true })
        const onSaved = () => {
          signal.removeEventListener('abort', onAbort)
          return finish(true)
        }
        return { ...answerWith(json), onSaved }
      } catch (problem) {
        if (problem instanceof UserError) return fail(errorWithHint(problem))
        throw problem
      }
    },
  }
}

function answerWith(json: object): ToolAnswer {
  return { text: JSON.stringify(json) }
}
