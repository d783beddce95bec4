import { relative } from 'node:path'
import { pathInside } from '../../../base/places.ts'
import { shownPath } from '../../../base/terminal/printable.ts'
import { shorten } from '../../../base/shorten.ts'
import type { Workspace } from './tool.ts'

/** Limits for the time to make a diff, and for its size. */
const TIMEOUT_MS = 100
const MOST_LINES = 1000
const LINE_LENGTH = 500

/** A unified diff with paths relative to the project; `before` is undefined for a new file. */
export async function makeDiff(
  path: string,
  before: Uint8Array | undefined,
  after: Uint8Array,
  workspace: Workspace,
): Promise<string> {
  const name = nameIn(workspace, path)
  const { createTwoFilesPatch, OMIT_HEADERS } = await import('diff/lib/patch/create.js')
  // Written here, because the library escapes non-ASCII characters.
  const headers = `--- ${before === undefined ? '/dev/null' : `a/${name}`}\n+++ b/${name}\n`
  const [from, to] = [before ?? '', after].map((bytes) => Buffer.from(bytes).toString('utf8'))
  const options = { context: 3, timeout: TIMEOUT_MS, headerOptions: OMIT_HEADERS }
  const diff = createTwoFilesPatch('', '', from!, to!, undefined, undefined, options)
  return headers + (diff === undefined ? tooDifferent(from!, to!) : shortened(diff))
}

function tooDifferent(from: string, to: string): string {
  const [was, is] = [from, to].map((text) => text.split('\n').length)
  return `[nearly all lines differ: ${was} before, ${is} now]\n`
}

function shortened(diff: string): string {
  const lines = diff.split('\n')
  const more = lines.length - MOST_LINES
  const shown = lines.slice(0, MOST_LINES).map((line) => shorten(line, LINE_LENGTH))
  return more <= 0 ? shown.join('\n') : `${shown.join('\n')}\n[${more} more lines]\n`
}

function nameIn({ cwd }: Workspace, path: string): string {
  const short = relative(pathInside('.', { cwd }) ?? cwd, path)
  return shownPath(short.startsWith('..') ? path : short)
}
