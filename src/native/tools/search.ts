import { closeSync, fstatSync } from 'node:fs'
import { unreachable } from '../../base/errors.ts'
import { SAFE_GIT } from '../../base/git.ts'
import { openInside, realPlaces } from '../../base/places.ts'
import { HeadAndTail } from './head-and-tail.ts'
import { failed, notOpened, refused } from './problems.ts'
import type { SearchRequest } from './search-request.ts'
import * as searcher from './searcher.ts' with { type: 'text' }
import { shellQuote } from '../../base/shell-quote.ts'
import type { Executed, ToolAnswer, Workplace } from './tool.ts'

const TIMEOUT_SECONDS = 30
/** More than the searcher prints. */
const OUTPUT_BYTES = 50_000

type Asked = Omit<SearchRequest, 'base' | 'cwd' | 'places' | 'safeGit'>

/** Lets a process of its own search, which can be ended whatever it is doing. */
export async function search(
  verb: string,
  path: string,
  asked: Asked,
  workplace: Workplace,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const base = baseOf(verb, path, workplace)
  if (typeof base !== 'string') return base
  const places = realPlaces(workplace)
  const cwd = places[0]!
  const glob = asked.glob === undefined ? undefined : globWithin(asked.glob, [workplace.cwd, cwd])
  if (glob !== undefined && isElsewhere(glob)) return refused(verb, glob, ELSEWHERE)
  const output = new HeadAndTail(OUTPUT_BYTES, OUTPUT_BYTES)
  const request = { ...asked, glob, base, cwd, places, safeGit: SAFE_GIT }
  const executed = await workplace.exec(commandFor(request), {
    timeoutMs: TIMEOUT_SECONDS * 1000,
    signal,
    take: (bytes) => output.add(bytes),
  })
  return answerOf(executed, output.text)
}

function baseOf(verb: string, path: string, workplace: Workplace): string | ToolAnswer {
  const opened = openInside(path, workplace)
  if (opened.kind !== 'opened') return notOpened(verb, path, opened, workplace)
  try {
    const stat = fstatSync(opened.fd)
    if (stat.isDirectory() || stat.isFile()) return opened.path
    return refused(verb, path, 'it is neither a folder nor a regular file')
  } finally {
    closeSync(opened.fd)
  }
}

/** Relative to the project, where a model has written it absolute. */
function globWithin(glob: string, folders: readonly string[]): string {
  const folder = folders.find((name) => glob.startsWith(`${name}/`))
  return (folder === undefined ? glob : glob.slice(folder.length + 1)).replace(/^(?:\.\/)+/, '')
}

const ELSEWHERE = 'a glob is relative to the project; give a folder as path'

function isElsewhere(glob: string): boolean {
  return glob.startsWith('/') || glob.split('/').includes('..')
}

/**
 * The runtime that we are is asked to run the searcher: in `/`, because it would obey settings that
 * it finds where it starts.
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
        `${text}\n[stopped after ${TIMEOUT_SECONDS} seconds; ask for less, or for a simpler pattern]`.trimStart(),
      )
    case 'stopped':
      return failed('Stopped.')
    case 'signalled':
      return failed(`The search was ended by ${executed.signal}.`)
    case 'failed':
      return failed(`The search could not be started: ${executed.error}.`)
    default:
      return unreachable(executed)
  }
}
