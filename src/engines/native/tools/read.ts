import { closeSync, fstatSync } from 'node:fs'
import * as z from 'zod/mini'
import { counted } from '../../../base/amounts.ts'
import { formatBytes } from '../../../base/files.ts'
import { openInside, throughOpened } from '../../../base/places.ts'
import { printable, shownPath } from '../../../base/terminal/printable.ts'
import { CRLF_REMARK } from './line-ends.ts'
import { makeTool, numberField, pathField } from './make-tool.ts'
import { readPage, type Page, type PageOptions } from './page.ts'
import { entriesOf, fail, explainNotOpened, refuse } from './problems.ts'
import type { SeenFiles, SeenFile } from './seen.ts'
import type { AgentTool, ToolAnswer, Workspace } from './tool.ts'

const MOST_LINES = 2000
const MOST_ENTRIES = 200

/** Larger files can be read in part, but not be edited. */
export const WHOLE_BYTES = 8 * 1024 * 1024

const schema = z.strictObject({
  path: pathField().check(z.describe('relative to the project, or absolute')),
  offset: z.optional(numberField(1).check(z.describe('first line, from 1'))),
  limit: z.optional(numberField(1, MOST_LINES).check(z.describe('number of lines'))),
})

type Input = z.output<typeof schema>

export function makeReadTool(seen: SeenFiles): AgentTool {
  return makeTool({
    name: 'read',
    description: `Shows a text file with line numbers, at most ${MOST_LINES} lines at once; lists a folder.`,
    schema,
    brief: rangeOf,
    call: async (input, workspace, signal) => {
      const answer = await readFileOf(input, workspace, signal)
      if (answer.seen !== undefined) seen.note(answer.seen)
      return answer
    },
  })
}

function rangeOf({ path, offset, limit }: Input): string {
  if (offset === undefined && limit === undefined) return path
  const first = offset ?? 1
  return `${path}:${first}-${limit === undefined ? '' : first + limit - 1}`
}

async function readFileOf(
  input: Input,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const opened = openInside(input.path, workspace)
  if (opened.kind !== 'opened') return explainNotOpened('read', input.path, opened, workspace)
  try {
    const stat = fstatSync(opened.fd)
    if (stat.isDirectory()) return listFolder(input.path, throughOpened(opened.fd, opened.path))
    if (!stat.isFile()) return refuse('read', input.path, 'it is not a regular file')
    return await readLines(input, opened, stat.size, signal)
  } finally {
    closeSync(opened.fd)
  }
}

async function readLines(
  input: Input,
  found: { readonly fd: number; readonly path: string },
  size: number,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const options: PageOptions = {
    offset: input.offset ?? 1,
    limit: input.limit ?? MOST_LINES,
    toEnd: size <= WHOLE_BYTES,
    signal,
  }
  const page = await readPage(found.fd, options)
  if ('binary' in page) {
    return refuse('read', input.path, `it is ${page.binary} (${formatBytes(size)})`)
  }
  if (signal.aborted) return fail('Stopped.')
  if (page.total !== undefined && page.lines.length === 0 && options.offset > 1) {
    return refuse('read', input.path, `it has only ${counted(page.total, 'line')}`)
  }
  return { text: renderPage(page, options.offset), ...seenOf(page, options.offset, found.path) }
}

function seenOf(
  { digest, lines, total }: Page,
  first: number,
  path: string,
): { readonly seen?: SeenFile } {
  if (digest === undefined || total === undefined) return {}
  const last = first + lines.length - 1
  const part = first === 1 && last >= total ? {} : { part: { first, last, total } }
  return { seen: { path, digest, ...part } }
}

function renderPage({ lines, total, hasCrlf, isUtf8 }: Page, first: number): string {
  const last = first + lines.length - 1
  const range = `lines ${first}-${last}${total === undefined ? '' : ` of ${total}`}`
  return [
    ...lines.map((line, at) => `${first + at}\t${line}`),
    ...(lines.length === 0 ? ['[the file is empty]'] : []),
    ...(hasCrlf ? [CRLF_REMARK] : []),
    ...(isUtf8 ? [] : ['[not valid UTF-8: � replaces other bytes]']),
    ...(last >= (total ?? Infinity) ? [] : [`[${range}; continue with offset ${last + 1}]`]),
  ].join('\n')
}

function listFolder(name: string, folder: string): ToolAnswer {
  const names = entriesOf(folder)
    .map((entry) => `${printable(entry.name)}${entry.isDirectory() ? '/' : ''}`)
    .toSorted()
  const more = names.length - MOST_ENTRIES
  const head = `${shownPath(name)} is a folder with ${counted(names.length, 'entry').replace('entrys', 'entries')}`
  const shown = [`${head}${names.length === 0 ? '.' : ':'}`, ...names.slice(0, MOST_ENTRIES)]
  return {
    text: [...shown, ...(more > 0 ? [`[${more} more; use glob to find them]`] : [])].join('\n'),
  }
}
