import { nearest } from '../../base/nearest.ts'

const COMMANDS = ['/read', '/push', '/run']

/** A line of the content that was perhaps meant as a command. */
export interface NearMiss {
  readonly word: string
  /** What was meant; the same word where it is no command only because of the space before it. */
  readonly meant: string
}

/** Whatever is no command is text, and so is a command that is misspelt, or that does not begin its line. */
export function findNearMisses(content: string): NearMiss[] {
  const lines = content.split('\n')
  const isEdge = edgesOf(lines)
  return lines.flatMap((line, place) => {
    const [, space = '', word] = /^(\s*)(\/[A-Za-z]{2,6})(?=\s|$)/.exec(line) ?? []
    // In the midst of the content it is an example of something.
    if (word === undefined || (space !== '' && !isEdge(place))) return []
    const meant = nearest(word.toLowerCase(), COMMANDS)
    if (meant === undefined || (space === '' && COMMANDS.includes(word))) return []
    return [{ word, meant }]
  })
}

/** Whether only such lines, and blank ones, are before or behind a line. */
function edgesOf(lines: readonly string[]): (place: number) => boolean {
  const isText = (line: string) => !/^\s*(?:\/[A-Za-z]{2,6}(?:\s|$)|$)/.test(line)
  const [first, last] = [lines.findIndex(isText), lines.findLastIndex(isText)]
  return (place) => first === -1 || place < first || place > last
}
