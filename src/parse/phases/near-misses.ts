import { nearest } from '../../base/nearest.ts'

const COMMANDS = ['/read', '/push', '/run']

/** A line of the content that was perhaps meant as a command. */
export interface NearMiss {
  readonly word: string
  readonly meant: string
}

/** Whatever is no command is text, and so is a command that is misspelt. */
export function findNearMisses(content: string): NearMiss[] {
  return content.split('\n').flatMap((line) => {
    const [word] = /^\/[A-Za-z]{2,6}(?=\s|$)/.exec(line) ?? []
    if (word === undefined || COMMANDS.includes(word)) return []
    const meant = nearest(word.toLowerCase(), COMMANDS)
    return meant === undefined ? [] : [{ word, meant }]
  })
}
