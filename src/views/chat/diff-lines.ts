import { safe, type Paint } from '../../base/terminal/columns.ts'

/** So many lines of a change are shown. */
const MOST = 12
/** Where a part of a unified diff begins, and from which line on. */
const PART = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** A change in short: what went and what came, with the numbers of the lines. */
export function diffLines(diff: string, paint: Paint): string[] {
  const lines = changedLines(diff, paint)
  const more = lines.length - MOST
  // One more line would be as long as to say that there is one.
  if (more <= 1) return lines
  return [...lines.slice(0, MOST), paint.dim(`  … ${more} more lines`)]
}

function changedLines(diff: string, paint: Paint): string[] {
  const shown: string[] = []
  let number = 0
  for (const line of diff.split('\n')) {
    const part = PART.exec(line)
    if (part !== null) number = Number(part[1])
    else if (number === 0 || line.startsWith('\\')) continue
    else if (line.startsWith('+')) shown.push(paint.green(`  ${number++} + ${safe(line.slice(1))}`))
    else if (line.startsWith('-')) shown.push(paint.red(`  ${number} - ${safe(line.slice(1))}`))
    else number += 1
  }
  return shown
}
