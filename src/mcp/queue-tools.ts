import { errorText } from '../base/errors.ts'
import type { QueueProvider } from '../queue/tools/provider.ts'
import { callTool } from '../queue/tools/tool.ts'
import { TOOLS } from '../queue/tools/tools.ts'
import { textResult, errorResult, type ServedTool } from './tool.ts'

export function queueTools(provider: QueueProvider): ServedTool[] {
  return TOOLS.map((tool) => ({
    ...tool,
    async call(given, call) {
      try {
        const { json, finish } = await callTool(tool, given, provider, call)
        // Must be asked before the answer is sent; settles once the client has read it or is gone.
        if (finish !== undefined) {
          call
            .isAnswerRead()
            .then(finish)
            .catch((error: unknown) => provider.warn(errorText(error)))
        }
        return textResult(JSON.stringify(json))
      } catch (error) {
        return errorResult(error)
      }
    },
  }))
}
