import { nearest } from '../../../base/nearest.ts'
import { findEdges } from './parse-command.ts'

const COMMANDS = ['/read', '/push', '/run']

/** A line of the content that was probably meant as a command. */
interface NearMiss {
  readonly word: string
  /** The same as `word` if only the space before it is wrong. */
  readonly meant: string
}

export function describeNearMiss({ word, meant }: NearMiss): string {
  return word === meant
    ? `'${word}' is sent as plain text: commands must start in column 1.`
    : `'${word}' is not a command and is sent as plain text; did you mean ${meant}?`
}

/** Finds misspelt and indented commands, which are text. */
export function findNearMisses(content: string): NearMiss[] {
  const lines = content.split('\n')
  const isText = (line: string) => !/^\s*(?:\/[A-Za-z]{2,6}(?:\s|$)|$)/.test(line)
  const { first, last } = findEdges(lines, isText)
  return lines.flatMap((line, index) => {
    const [, space = '', word] = /^(\s*)(\/[A-Za-z]{2,6})(?=\s|$)/.exec(line) ?? []
    // Indented in the middle of the content, it is an example.
    if (word === undefined || (space !== '' && index >= first && index <= last)) return []
    const meant = nearest(word.toLowerCase(), COMMANDS)
    if (meant === undefined || (space === '' && COMMANDS.includes(word))) return []
    return [{ word, meant }]
  })
}
