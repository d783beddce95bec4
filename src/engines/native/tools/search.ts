import { closeSync, fstatSync } from 'node:fs'
import * as z from 'zod/mini'
import { errorText } from '../../../base/errors.ts'
import { SAFE_GIT } from '../../../base/git.ts'
import { openInside, realPlaces } from '../../../base/places.ts'
import { shellQuote } from '../../../base/shell-quote.ts'
import { runShell } from './bash.ts'
import { HeadAndTail } from './head-and-tail.ts'
import { flagField, makeTool, numberField, pathField, textField } from './make-tool.ts'
import { fail, explainNotOpened, refuse } from './problems.ts'
import type { SearchRequest } from './searcher.ts'
import * as searcher from './searcher.ts' with { type: 'text' }
import type { ToolAnswer, Workspace } from './tool.ts'

const MOST_FILES = 200
const DEFAULT_LIMIT = 200
const TIMEOUT_SECONDS = 30
/** More than the searcher ever prints. */
const OUTPUT_BYTES = 50_000

export const globTool = makeTool({
  name: 'glob',
  description: `Finds files by name, newest first, at most ${MOST_FILES}; skips files that git ignores.`,
  schema: z.strictObject({
    pattern: pathField('a glob as text').check(
      z.describe('e.g. src/**/*.ts; without a / it matches in any folder'),
    ),
    path: z.optional(pathField().check(z.describe('folder, default the project'))),
  }),
  brief: ({ pattern, path }) => (path === undefined ? pattern : `${pattern} in ${path}`),
  call: ({ pattern, path }, workspace, signal) =>
    search(path, { glob: pattern, limit: MOST_FILES }, workspace, signal),
})

export const grepTool = makeTool({
  name: 'grep',
  description:
    'Searches the text of files; skips binaries and files that git ignores. mode: matching lines (default), only the files, or counts.',
  schema: z.strictObject({
    pattern: textField('a regular expression as text').check(
      z.minLength(1, { error: 'a regular expression that is not empty' }),
      z.describe('JavaScript regular expression, matched line by line'),
    ),
    path: z.optional(pathField().check(z.describe('file or folder, default the project'))),
    glob: z.optional(
      pathField('a glob as text').check(z.describe('only matching files, e.g. *.{ts,tsx}')),
    ),
    mode: z.optional(
      z.enum(['lines', 'files', 'counts'], { error: '"lines", "files" or "counts"' }),
    ),
    context: z.optional(numberField(0, 20).check(z.describe('lines around each match'))),
    ignoreCase: z.optional(flagField()),
    limit: z.optional(numberField(1, 2000).check(z.describe(`matches, default ${DEFAULT_LIMIT}`))),
  }),
  brief: ({ pattern, path, glob }) =>
    [
      pattern,
      ...(path === undefined ? [] : [`in ${path}`]),
      ...(glob === undefined ? [] : [`(${glob})`]),
    ].join(' '),
  call: async (input, workspace, signal) => {
    const regex = regexOf(input.pattern, input.ignoreCase)
    if (typeof regex === 'string') return fail(`Wrong input for grep: pattern ${regex}.`)
    const { glob, mode = 'lines', context = 0, limit = DEFAULT_LIMIT } = input
    const { source: pattern, flags } = regex
    const asked = { glob, limit, grep: { pattern, flags, mode, context } }
    return search(input.path, asked, workspace, signal)
  },
})

/** The expression, or what is wrong with it. Accepts syntax of other dialects if it is unambiguous. */
function regexOf(written: string, ignoreCase = false): RegExp | string {
  const pattern = written.replace(/^\(\?i\)/, '')
  if (/\[\[:\w+:\]/.test(pattern))
    return 'has a POSIX class; write for example \\s, \\d or [a-zA-Z]'
  if (/(?<!\\)(?:\\\\)*\\n|\n/.test(pattern)) return 'has a line break, but is matched line by line'
  const isCaseless = ignoreCase || pattern !== written
  // Character properties need the u flag, which otherwise refuses many common patterns.
  const flags = `${isCaseless ? 'i' : ''}${/\\[pP]\{|\\u\{/.test(pattern) ? 'u' : ''}`
  try {
    return new RegExp(pattern, flags)
  } catch (error) {
    return `is not a regular expression (${errorText(error)}); put \\ before ( [ { * + ? . to search for them`
  }
}

/** Searches in a separate process, which can be killed at any time. */
async function search(
  path = '.',
  asked: Pick<SearchRequest, 'glob' | 'limit' | 'grep'>,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const base = baseOf(path, workspace)
  if (typeof base !== 'string') return base
  const places = realPlaces(workspace)
  const cwd = places[0]!
  const glob = asked.glob === undefined ? undefined : globWithin(asked.glob, [workspace.cwd, cwd])
  if (glob !== undefined && leavesProject(glob)) {
    return refuse('search', glob, 'a glob is relative to the project; pass a folder as path')
  }
  const output = new HeadAndTail(OUTPUT_BYTES, OUTPUT_BYTES)
  const line = commandFor({ ...asked, glob, base, cwd, places, safeGit: SAFE_GIT })
  const hint = 'narrow the search or simplify the pattern'
  const command = { line, seconds: TIMEOUT_SECONDS, hint, output }
  const answer = await runShell(command, workspace, signal)
  return answer.isError === true ? answer : { text: output.text }
}

function baseOf(path: string, workspace: Workspace): string | ToolAnswer {
  const opened = openInside(path, workspace)
  if (opened.kind !== 'opened') return explainNotOpened('search', path, opened, workspace)
  try {
    const stat = fstatSync(opened.fd)
    if (stat.isDirectory() || stat.isFile()) return opened.path
    return refuse('search', path, 'it is neither a folder nor a regular file')
  } finally {
    closeSync(opened.fd)
  }
}

/** Makes an absolute glob relative to the project. */
function globWithin(glob: string, folders: readonly string[]): string {
  const folder = folders.find((name) => glob.startsWith(`${name}/`))
  return (folder === undefined ? glob : glob.slice(folder.length + 1)).replace(/^(?:\.\/)+/, '')
}

function leavesProject(glob: string): boolean {
  return glob.startsWith('/') || glob.split('/').includes('..')
}

/**
 * Runs the searcher with the runtime inside our own binary. It starts in `/`, because it would load
 * configuration files from its working directory.
 */
function commandFor(request: SearchRequest): string {
  const { default: source } = searcher as unknown as { readonly default: string }
  const words = [process.execPath, '-e', source, JSON.stringify(request)].map(shellQuote)
  return `cd / && BUN_BE_BUN=1 BUN_OPTIONS= exec ${words.join(' ')}`
}
