import * as z from 'zod/mini'
import { errorText } from '../../../base/errors.ts'
import { flag, path, text, whole } from './fields.ts'
import { makeTool } from './make-tool.ts'
import { failed } from './problems.ts'
import { search } from './search.ts'
import type { AgentTool } from './tool.ts'

const DEFAULT_LIMIT = 200
const MODES = ['lines', 'files', 'counts'] as const

const schema = z.strictObject({
  pattern: text('a regular expression as text').check(
    z.minLength(1, { error: 'a regular expression that is not empty' }),
    z.describe('JavaScript regular expression, matched line by line'),
  ),
  path: z.optional(path().check(z.describe('file or folder, default the project'))),
  glob: z.optional(path('a glob as text').check(z.describe('only such files, e.g. *.{ts,tsx}'))),
  mode: z.optional(z.enum(MODES, { error: '"lines", "files" or "counts"' })),
  context: z.optional(whole(0, 20).check(z.describe('lines around each match'))),
  ignoreCase: z.optional(flag()),
  limit: z.optional(whole(1, 2000).check(z.describe(`matches, default ${DEFAULT_LIMIT}`))),
})

type Input = z.output<typeof schema>

export function makeGrepTool(): AgentTool {
  return makeTool({
    name: 'grep',
    description:
      'Searches the text of files; skips binaries and files that git ignores. mode: matching lines (default), only the files, or counts.',
    schema,
    brief: ({ pattern, path: where, glob }) =>
      [
        pattern,
        ...(where === undefined ? [] : [`in ${where}`]),
        ...(glob === undefined ? [] : [`(${glob})`]),
      ].join(' '),
    call: async (input, workspace, signal) => {
      const regex = regexOf(input)
      if ('problem' in regex) return failed(`Wrong input for grep: pattern ${regex.problem}.`)
      const { glob, mode = 'lines', context = 0, limit = DEFAULT_LIMIT } = input
      const asked = { kind: 'grep' as const, glob, mode, context, limit, ...regex }
      return search('search', input.path ?? '.', asked, workspace, signal)
    },
  })
}

type Regex = { readonly pattern: string; readonly flags: string } | { readonly problem: string }

/** Also accepts the syntax of other dialects if it is unambiguous. */
function regexOf({ pattern: written, ignoreCase }: Input): Regex {
  const pattern = written.replace(/^\(\?i\)/, '')
  const isCaseless = ignoreCase === true || pattern !== written
  if (/\[\[:\w+:\]/.test(pattern))
    return { problem: 'has a POSIX class; write for example \\s, \\d or [a-zA-Z]' }
  if (/(?<!\\)(?:\\\\)*\\n|\n/.test(pattern))
    return { problem: 'has a line break, but is matched line by line' }
  // Character properties need the u flag, which otherwise refuses many common patterns.
  const flags = `${isCaseless ? 'i' : ''}${/\\[pP]\{|\\u\{/.test(pattern) ? 'u' : ''}`
  try {
    const regex = new RegExp(pattern, flags)
    return { pattern: regex.source, flags: regex.flags }
  } catch (error) {
    return {
      problem: `is not a regular expression (${errorText(error)}); put \\ before ( [ { * + ? . to search for them`,
    }
  }
}
