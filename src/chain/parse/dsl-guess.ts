import { doubleQuote } from '../../base/shell-quote.ts'

/** What people type instead of `->`. A comma may be part of a name unless it is next to a space or a count. */
const LOOKALIKES =
  /(?:[-–—−]{2,}|[–—−]|[-–—−]+\s+|=+)[>›]+|->{2,}|(?<![->])>+|[→⇒➔➜➡⟶]|&&|(?<=:\d+)[,;+]|[,;](?=\s)|(?<=\s)[,;+](?=\s|$)/gu

const WORDS = /^(?:then|and)$/i
const COUNT = /^[x:]?\s*(\d+)x?$/i

/** Part of a chain as text. */
export interface Token {
  readonly text: string
  readonly offset: number
}

/** The first text in a chain that was probably meant to be an arrow. */
export function findLookalike(text: string): Token | undefined {
  const [match] = text.matchAll(LOOKALIKES)
  return match === undefined ? undefined : { text: match[0], offset: match.index }
}

/** The command with every such text replaced by an arrow. */
export function withArrows(text: string): string {
  const parts = text.replaceAll(LOOKALIKES, '->').split('->')
  const steps = parts.map((part) => part.trim()).filter((part) => part !== '')
  return commandFor(steps.join(' -> '))
}

/** The command to suggest when `after` follows a chain without an arrow in between. */
export function guessCommand(
  before: string,
  after: string,
  isAgent: (name: string) => boolean,
): string {
  const words = after.split(/\s+/)
  const [next = '', ...more] = words
  if (WORDS.test(next) && more.length > 0) return withArrows(`${before} -> ${more.join(' ')}`)
  const count = /:\d+$/.test(before) ? undefined : COUNT.exec(after)?.[1]
  if (count !== undefined) return commandFor(`${before.replace(/:$/, '')}:${count}`)
  const countBefore = COUNT.exec(before)?.[1]
  if (countBefore !== undefined && more.length === 0) return commandFor(`${next}:${countBefore}`)
  const isStep = (word: string) => /.:\d+$/.test(word) || isAgent(word)
  if (words.every(isStep)) return commandFor([before, ...words].join(' -> '))
  const last = before.split('->').at(-1)?.trim() ?? ''
  if (isStep(last)) return `${commandFor(before)} -p ${doubleQuote(after)}`
  const asPrompt = `forkhestra builder:10 -p ${doubleQuote(`${before} ${after}`)}`
  // Two words may be two agents that do not exist in this project.
  const areNames = more.length === 0 && [last, next].every((word) => /^[\w./:-]+$/.test(word))
  return areNames ? `${commandFor(`${before} -> ${next}`)}, or, as a prompt, ${asPrompt}` : asPrompt
}

function commandFor(chain: string): string {
  return `forkhestra ${/^[\w./:~-]+$/.test(chain) ? chain : doubleQuote(chain)}`
}
