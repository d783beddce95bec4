import { nearest } from '../../../base/nearest.ts'
import { findEdges } from './parse-command.ts'

const COMMANDS = ['/read', '/push', '/run']

/** A line of the content that was probably meant as a command. */
export interface NearMiss {
  readonly word: string
  /** The same as `word` if only the space before it is wrong. */
  readonly meant: string
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
