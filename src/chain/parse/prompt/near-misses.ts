import { Fences } from '../../../base/code-fences.ts'
import { nearest } from '../../../base/nearest.ts'
import { findEdges } from './parse-command.ts'

const COMMANDS = ['/read', '/push', '/run']

/** A line of the content that was probably meant to be a command. */
interface NearMiss {
  readonly word: string
  /** The same as `word` if it is only in the wrong place. */
  readonly meant: string
  /** Whether there is text before and after it. */
  readonly isInMiddle?: true
}

export function describeNearMiss({ word, meant, isInMiddle }: NearMiss): string {
  if (isInMiddle === true) {
    const place = word === '/push' ? 'the beginning or the end' : 'the beginning'
    return `'${word}' in the middle of the text is sent as plain text. Move it to ${place}; to show it as an example, indent it.`
  }
  return word === meant
    ? `'${word}' is sent as plain text: commands must start in column 1.`
    : `'${word}' is not a command and is sent as plain text (did you mean ${meant}?)`
}

/** Finds misspelt, indented and misplaced commands, which count as text. */
export function findNearMisses(content: string): NearMiss[] {
  const lines = content.split('\n')
  const isText = (line: string) => !/^\s*(?:\/[A-Za-z]{2,6}(?:\s|$)|$)/.test(line)
  const { first, last } = findEdges(lines, isText)
  const fences = new Fences()
  return lines.flatMap((line, index): NearMiss[] => {
    fences.take(line)
    const [, space = '', word, rest = ''] = /^(\s*)(\/[A-Za-z]{2,6})(?=\s|$)(.*)/.exec(line) ?? []
    const isInMiddle = index >= first && index <= last
    // An indented command in the middle of the content is an example.
    if (word === undefined || (space !== '' && isInMiddle)) return []
    if (space === '' && COMMANDS.includes(word)) {
      const isMisplaced = isInMiddle && rest.trim() !== '' && !fences.isOpen
      return isMisplaced ? [{ word, meant: word, isInMiddle }] : []
    }
    const meant = nearest(word.toLowerCase(), COMMANDS)
    return meant === undefined ? [] : [{ word, meant }]
  })
}
