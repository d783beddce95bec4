import { isBlank, linesBack, linesFrom, type Line } from './lines.ts'
import { isLiteral } from './parse-command.ts'

/**
 * The content with one slash fewer on `//read …` and its like, at both ends of it: that is where
 * the line would have been a command. In the middle nothing is one, and nothing is changed.
 */
export function withoutEscapes(content: string, start: number): string {
  if (!content.startsWith('//', start) && !content.includes('\n//')) return content
  const top = edge(linesFrom(content, start))
  const bottom = edge(linesBack(content, start))
  const offsets = [...new Set([...top, ...bottom])].toSorted((a, b) => a - b)
  const cuts = [0, ...offsets.map((offset) => offset + 1)]
  return cuts.map((from, index) => content.slice(from, offsets[index])).join('')
}

/** Where the escaped lines begin, up to the first line that is ordinary text. */
function edge(lines: Iterable<Line>): number[] {
  const offsets: number[] = []
  for (const line of lines) {
    if (isLiteral(line.text)) offsets.push(line.start)
    else if (!isBlank(line)) break
  }
  return offsets
}
