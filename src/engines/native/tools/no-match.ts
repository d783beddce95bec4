import { shorten } from '../../../base/shorten.ts'

const SHOWN_LINES = 3
const SHOWN_LENGTH = 200

/** The most likely reason why a file does not contain a text. */
export function explainMismatch(content: string, old: string): string {
  const lines = content.split(/\r?\n/)
  const wanted = old.split(/\r?\n/)
  const reason =
    lineNumbersInOld(content, wanted) ??
    doubleEscapes(content, old) ??
    whitespaceDiffers(lines, wanted) ??
    differsLater(lines, wanted)
  return `old is not in the file${reason ?? '; read it again'}`
}

function lineNumbersInOld(content: string, wanted: readonly string[]): string | undefined {
  const numbered = wanted.every((line) => line === '' || /^\s*\d+\t/.test(line))
  const without = wanted.map((line) => line.replace(/^\s*\d+\t/, '')).join('\n')
  if (!numbered || without === '' || !content.replaceAll('\r\n', '\n').includes(without))
    return undefined
  return ': leave out the line numbers that read adds'
}

function doubleEscapes(content: string, old: string): string | undefined {
  if (!/\\[nt"]/.test(old)) return undefined
  const meant = old.replaceAll('\\n', '\n').replaceAll('\\t', '\t').replaceAll('\\"', '"')
  return content.includes(meant)
    ? ': it is escaped twice; write line breaks and quotes unescaped'
    : undefined
}

/** Normalises white space, quotes and dashes. */
function normalise(line: string): string {
  return line
    .replaceAll(/[\s\u200B\uFEFF]+/g, ' ')
    .replaceAll(/[‘’‚]/g, "'")
    .replaceAll(/[“”„]/g, '"')
    .replaceAll(/[‐‑–—]/g, '-')
    .trim()
}

function whitespaceDiffers(
  lines: readonly string[],
  wanted: readonly string[],
): string | undefined {
  const targets = withoutBlankEnds(wanted.map(normalise))
  if (targets.length === 0) return undefined
  const at = indexOfRun(lines.map(normalise), targets)
  if (at === -1) return undefined
  const found = lines.slice(at, at + targets.length)
  return `: ${describeRange(at, targets.length)} only in white space or the kind of quotes and dashes. The file has ${quoteLines(found)}`
}

function withoutBlankEnds(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line !== '')
  return first === -1 ? [] : lines.slice(first, lines.findLastIndex((line) => line !== '') + 1)
}

function indexOfRun(lines: readonly string[], run: readonly string[]): number {
  return lines.findIndex((_, at) => run.every((line, next) => lines[at + next] === line))
}

function describeRange(at: number, count: number): string {
  return count === 1 ? `line ${at + 1} differs` : `lines ${at + 1}-${at + count} differ`
}

/** As JSON, so that tabs and spaces can be distinguished. */
function quoteLines(lines: readonly string[]): string {
  const shown = lines
    .slice(0, SHOWN_LINES)
    .map((line) => JSON.stringify(shorten(line, SHOWN_LENGTH)))
  return `${shown.join(', ')}${lines.length > SHOWN_LINES ? ', …' : ''}`
}

/** Finds the place where most of the first lines match, and reports the first line that differs. */
function differsLater(lines: readonly string[], wanted: readonly string[]): string | undefined {
  const first = wanted[0] ?? ''
  if (wanted.length < 2 || first.trim() === '') return undefined
  let best: { at: number; same: number } | undefined
  for (let at = lines.indexOf(first); at !== -1; at = lines.indexOf(first, at + 1)) {
    const other = wanted.findIndex((line, next) => lines[at + next] !== line)
    const same = other === -1 ? wanted.length : other
    if (best === undefined || same > best.same) best = { at, same }
  }
  if (best === undefined) return undefined
  const number = best.at + best.same
  const found =
    lines[number] === undefined
      ? 'the file ends'
      : `line ${number + 1} is ${quoteLines([lines[number]])}`
  return `: it starts at line ${best.at + 1}, but ${found} where old has ${quoteLines([wanted[best.same] ?? ''])}`
}
