import { closeSync, fstatSync } from 'node:fs'
import { unreachable } from '../../../base/errors.ts'
import { SAFE_GIT } from '../../../base/git.ts'
import { openInside, realPlaces } from '../../../base/places.ts'
import { HeadAndTail } from './head-and-tail.ts'
import { failed, notOpened, refused } from './problems.ts'
import type { SearchRequest } from './search-request.ts'
import * as searcher from './searcher.ts' with { type: 'text' }
import { shellQuote } from '../../../base/shell-quote.ts'
import type { Executed, ToolAnswer, Workspace } from './tool.ts'

const TIMEOUT_SECONDS = 30
/** More than the searcher ever prints. */
const OUTPUT_BYTES = 50_000

type Asked = Omit<SearchRequest, 'base' | 'cwd' | 'places' | 'safeGit'>

/** Searches in a process of its own, which can be killed at any time. */
export async function search(
  action: string,
  path: string,
  asked: Asked,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const base = baseOf(action, path, workspace)
  if (typeof base !== 'string') return base
  const places = realPlaces(workspace)
  const cwd = places[0]!
  const glob = asked.glob === undefined ? undefined : globWithin(asked.glob, [workspace.cwd, cwd])
  if (glob !== undefined && leavesProject(glob)) return refused(action, glob, OUTSIDE)
  const output = new HeadAndTail(OUTPUT_BYTES, OUTPUT_BYTES)
  const request = { ...asked, glob, base, cwd, places, safeGit: SAFE_GIT }
  const executed = await workspace.exec(commandFor(request), {
    timeoutMs: TIMEOUT_SECONDS * 1000,
    signal,
    take: (bytes) => output.add(bytes),
  })
  return answerOf(executed, output.text)
}

function baseOf(action: string, path: string, workspace: Workspace): string | ToolAnswer {
  const opened = openInside(path, workspace)
  if (opened.kind !== 'opened') return notOpened(action, path, opened, workspace)
  try {
    const stat = fstatSync(opened.fd)
    if (stat.isDirectory() || stat.isFile()) return opened.path
    return refused(action, path, 'it is neither a folder nor a regular file')
  } finally {
    closeSync(opened.fd)
  }
}

/** Makes an absolute glob relative to the project. */
function globWithin(glob: string, folders: readonly string[]): string {
  const folder = folders.find((name) => glob.startsWith(`${name}/`))
  return (folder === undefined ? glob : glob.slice(folder.length + 1)).replace(/^(?:\.\/)+/, '')
}

const OUTSIDE = 'a glob is relative to the project; pass a folder as path'

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
  return `cd / && BUN_BE_BUN=1 BUN_OPTIONS= exec ${words.join(' ')} </dev/null`
}

function answerOf(executed: Executed, text: string): ToolAnswer {
  switch (executed.kind) {
    case 'exited':
      return executed.code === 0 ? { text } : failed(`The search failed: ${text}`)
    case 'timed_out':
      return failed(
        `${text}\n[stopped after ${TIMEOUT_SECONDS} seconds; narrow the search or simplify the pattern]`.trimStart(),
      )
    case 'stopped':
      return failed('Stopped.')
    case 'signalled':
      return failed(`The search was ended by ${executed.signal}.`)
    case 'failed':
      return failed(`The search could not start: ${executed.error}.`)
    default:
      return unreachable(executed)
  }
}
