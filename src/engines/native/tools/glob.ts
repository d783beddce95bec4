import * as z from 'zod/mini'
import { path } from './fields.ts'
import { makeTool } from './make-tool.ts'
import { search } from './search.ts'
import type { AgentTool } from './tool.ts'

const MOST_FILES = 200

const schema = z.strictObject({
  pattern: path('a glob as text').check(z.describe('e.g. src/**/*.ts; without / in any folder')),
  path: z.optional(path().check(z.describe('folder, default the project'))),
})

export function makeGlobTool(): AgentTool {
  return makeTool({
    name: 'glob',
    description: `Finds files by name, newest first, at most ${MOST_FILES}; skips files that git ignores.`,
    schema,
    brief: ({ pattern, path: where }) => (where === undefined ? pattern : `${pattern} in ${where}`),
    call: (input, workspace, signal) => {
      const files = { pattern: '', flags: '', mode: 'files' as const, context: 0 }
      const asked = { ...files, kind: 'glob' as const, glob: input.pattern, limit: MOST_FILES }
      return search('search', input.path ?? '.', asked, workspace, signal)
    },
  })
}
