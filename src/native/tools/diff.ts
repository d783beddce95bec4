import { shorten } from '../../base/shorten.ts'

/** So much time may be spent on it, and so much of it is kept. */
const TIMEOUT_MS = 100
const MOST_LINES = 1000
const LINE_LENGTH = 500

/** What has changed, as a unified diff; `before` is undefined for a new file. */
export async function makeDiff(
  path: string,
  before: Uint8Array | undefined,
  after: Uint8Array,
): Promise<string> {
  const { createTwoFilesPatch, OMIT_HEADERS } = await import('diff/lib/patch/create.js')
  // Ours, because the library writes other letters than those of English as numbers.
  const headers = `--- ${before === undefined ? '/dev/null' : `a/${path}`}\n+++ b/${path}\n`
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
