import { UserError } from '../../base/errors.ts'
import { findLookalike, guessCommand, withArrows, type Token } from './dsl-guess.ts'
import { pointAt } from './prompt/prompt-error.ts'

export const MAX_ITERATIONS = 100_000
export const MIN_COPIES = 2
export const MAX_COPIES = 64

type IsAgent = (name: string) => boolean

/** Part of a chain, in the form used by the configuration. */
export type ParsedItem = (
  | { readonly agent: string }
  | { readonly chain: string }
  | { readonly sequence: readonly ParsedItem[] }
  | { readonly parallel: readonly ParsedItem[] }
  | { readonly fallback: readonly ParsedItem[] }
) &
  Counts

interface Counts {
  readonly iterations?: number
  readonly copies?: number
}

const KIND_OF_SIGN = { '->': 'sequence', '&': 'parallel', '||': 'fallback' } as const

type Sign = keyof typeof KIND_OF_SIGN
type Kind = (typeof KIND_OF_SIGN)[Sign]

/**
 * Parses a chain such as `a:3 -> (b:10 & c) -> d*4`, and returns its steps. Names may contain colons and
 * asterisks, so `isAgent` decides whether `x:abc` is a name.
 */
export function parseChain(text: string, isAgent: IsAgent): ParsedItem[] {
  if (text.trim() === '') {
    throw new UserError(
      'The chain is empty.',
      'Name at least one agent, for example: forkhestra "planner:3 -> builder:20"',
    )
  }
  return new Parser(text, isAgent).parse()
}

const TOKEN = /->|\|\||[()&|]|(?:(?!->|[()&|])\S)+/g

/** A count that is separated from its item by a space. */
const COUNT = /^[:*]\d*$/
const NUMBER = /^\d+$/

class Parser {
  readonly #text: string
  readonly #isAgent: IsAgent
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(text: string, isAgent: IsAgent) {
    this.#text = text
    this.#isAgent = isAgent
    this.#tokens = [...text.matchAll(TOKEN)].flatMap(splitCounts)
    const lookalike = findLookalike(text)
    if (lookalike === undefined) return
    const problem = `Join agents with '->', not with '${lookalike.text}'.`
    throw this.#error(lookalike, problem, `Use: ${withArrows(text)}`)
  }

  parse(): ParsedItem[] {
    const { kind, items } = this.#parseLevel()
    const rest = this.#next
    if (rest !== undefined) throw this.#error(rest, "Unmatched ')'.")
    return kind === 'sequence' ? items : [makeGroup(kind, items)]
  }

  get #next(): Token | undefined {
    return this.#tokens[this.#at]
  }

  /** Items joined by one operator, up to a closing parenthesis or the end. */
  #parseLevel(opening?: Token): { kind: Kind; items: ParsedItem[] } {
    const start = this.#at
    const items = [this.#parseItem(opening)]
    let first: Token | undefined
    for (let sign = this.#next; sign !== undefined && sign.text !== ')'; sign = this.#next) {
      if (!isSign(sign.text)) throw this.#missingSign(sign)
      first ??= sign
      if (sign.text !== first.text) throw this.#mixed(sign, first, start)
      this.#at += 1
      items.push(this.#parseItem(sign))
    }
    return { kind: KIND_OF_SIGN[(first?.text ?? '->') as Sign], items }
  }

  /** An agent, a named chain or a group, with its counts. */
  #parseItem(before: Token | undefined): ParsedItem {
    const token = this.#next
    if (token === undefined || token.text === ')' || isSign(token.text))
      throw this.#missingItem(token, before)
    this.#at += 1
    if (token.text === '|') throw this.#singleBar(token)
    if (token.text !== '(') return this.#parseWord(token)
    const { kind, items } = this.#parseLevel(token)
    if (this.#next === undefined) throw this.#error(token, "This '(' is never closed.")
    this.#at += 1
    const counts = this.#parseCounts(')')
    const hasCounts = counts.iterations !== undefined || counts.copies !== undefined
    if (items.length === 1 && !hasCounts) return items[0]!
    const group = makeGroup(kind, items)
    // Rounds belong to a sequence, even if it has a single item.
    return kind === 'sequence' || counts.iterations === undefined
      ? { ...group, ...counts }
      : { sequence: [group], ...counts }
  }

  #parseWord(token: Token): ParsedItem {
    const { text, offset } = token
    if (COUNT.test(text)) throw this.#missingItem(token, undefined)
    // Looks at the disk, so it is asked only about ambiguous words.
    if (/[:*@]/.test(text) && !/:\d+$/.test(text) && this.#isAgent(text))
      return { agent: text, ...this.#parseCounts(text) }
    const [, word = '', stars] = /^(.*?)(\*\d*)?$/s.exec(text) ?? []
    const [, before = ''] = /^(.*\*\d+)(?::\d*)?$/.exec(word) ?? []
    if (before !== '' && !this.#isAgent(before)) throw this.#wrongOrder(token)
    const { name, ...loop } = this.#splitCount({ text: word, offset })
    const copies =
      stars === undefined
        ? {}
        : { copies: this.#parseCopies({ text: stars, offset: offset + word.length }) }
    const counts = this.#parseCounts(text, { ...loop, ...copies })
    if (name.startsWith('@') && name.length > 1 && !this.#isAgent(name))
      return { chain: name.slice(1), ...counts }
    return { agent: this.#checkName(token, name), ...counts }
  }

  /** `name:3`, `name: 3` or just a name. */
  #splitCount(token: Token): { name: string; iterations?: number } {
    const { text, offset } = token
    const colon = text.lastIndexOf(':')
    if (colon === -1) return { name: text }
    const [name, count] = [text.slice(0, colon), text.slice(colon + 1)]
    if (count === '' && NUMBER.test(this.#next?.text ?? '')) {
      const number = this.#next!
      this.#at += 1
      return { name, iterations: this.#parseIterations(number, text + number.text, name) }
    }
    if (count !== '' && !NUMBER.test(count) && this.#isAgent(text)) return { name: text }
    if (name === '') this.#checkName(token, name)
    const place = { text: count, offset: offset + colon + 1 }
    return { name, iterations: this.#parseIterations(place, text, name) }
  }

  /** Counts after an item, possibly separated from it: `:3`, `* 4`. */
  #parseCounts(item: string, known: Counts = {}): Counts {
    let counts = known
    for (let sign = this.#next; sign !== undefined && COUNT.test(sign.text); sign = this.#next) {
      this.#at += 1
      const { text, offset } = sign
      const count =
        text.length > 1 ? { text: text.slice(1), offset: offset + 1 } : this.#takeNumber(sign)
      const isLoop = text.startsWith(':')
      if (counts.copies !== undefined || (isLoop && counts.iterations !== undefined))
        throw this.#wrongOrder(sign)
      counts = isLoop
        ? { ...counts, iterations: this.#parseIterations(count, `${item}:${count.text}`, item) }
        : { ...counts, copies: this.#parseCopies({ text: `*${count.text}`, offset }) }
    }
    return counts
  }

  #takeNumber({ offset }: Token): Token {
    const token = this.#next
    if (token === undefined || !NUMBER.test(token.text)) return { text: '', offset: offset + 1 }
    this.#at += 1
    return token
  }

  #wrongOrder(place: Token): UserError {
    const problem = 'Write the counts of an item as :N*K, each at most once.'
    const [, name, copies, iterations] = /^(.+)\*(\d+):(\d+)$/.exec(place.text) ?? []
    return this.#error(place, problem, name && `Use: ${name}:${iterations}*${copies}`)
  }

  #parseIterations(count: Token, word: string, name: string): number {
    const iterations = Number(count.text)
    if (NUMBER.test(count.text) && iterations >= 1 && iterations <= MAX_ITERATIONS)
      return iterations
    const [, stars] = /^\d+(\*.*)$/s.exec(count.text) ?? []
    if (stars !== undefined)
      return this.#parseCopies({ text: stars, offset: count.offset + count.text.indexOf('*') })
    const [shown, what] = name === ')' ? ['(…)', 'rounds'] : [name || 'agent', 'iterations']
    throw this.#error(
      count,
      countProblem(word, count.text),
      `Use ${shown}:N for at most N ${what} (1 to ${MAX_ITERATIONS}), or ${shown} to run it once.`,
    )
  }

  #parseCopies(stars: Token): number {
    const copies = Number(stars.text.slice(1))
    if (stars.text.length > 1 && copies >= MIN_COPIES && copies <= MAX_COPIES) return copies
    throw this.#error(
      stars,
      `The number of copies after '*' must be from ${MIN_COPIES} to ${MAX_COPIES}.`,
      'For example: builder:20*4 for four builders in parallel.',
    )
  }

  #missingItem(token: Token | undefined, before: Token | undefined): UserError {
    if (token?.text === ')' && before?.text === '(')
      return this.#error(token, 'The parentheses are empty.', 'Name at least one agent in them.')
    return token === undefined || token.text === ')'
      ? this.#error(before ?? token!, `Missing agent after '${before?.text ?? '('}'.`)
      : this.#error(token, `Missing agent before '${token.text}'.`)
  }

  #missingSign(token: Token): UserError {
    if (token.text === '|') return this.#singleBar(token)
    const before = this.#text.slice(0, token.offset).trim()
    const after = this.#text.slice(token.offset).trim()
    return this.#error(
      token,
      `Missing '->' before '${token.text}'.`,
      `Use: ${guessCommand(before, after, this.#isAgent)}\nArguments for the agents go after --.`,
    )
  }

  #singleBar(token: Token): UserError {
    const use = this.#text.trim().replaceAll(/(?<!\|)\|(?!\|)/g, '||')
    return this.#error(token, "Fallback agents are joined with '||'.", `Use: ${use}`)
  }

  /** Suggests both ways to add parentheses. */
  #mixed(sign: Token, first: Token, start: number): UserError {
    const parts = this.#partsOfLevel(start)
    const ways = [joinBy(first.text, parts), joinBy(sign.text, parts)]
    return this.#error(
      sign,
      `'${first.text}' and '${sign.text}' cannot be mixed without parentheses.`,
      `Use: ${ways.join('\n   or: ')}`,
    )
  }

  /** The text of one level, split at its operators: items and operators alternate. */
  #partsOfLevel(start: number): string[] {
    const parts: string[] = []
    let depth = 0
    let from = this.#tokens[start]!.offset
    for (const { text, offset } of this.#tokens.slice(start)) {
      if (text === ')' && depth === 0) return [...parts, this.#text.slice(from, offset).trim()]
      depth += Number(text === '(') - Number(text === ')')
      if (depth > 0 || !isSign(text)) continue
      parts.push(this.#text.slice(from, offset).trim(), text)
      from = offset + text.length
    }
    return [...parts, this.#text.slice(from).trim()]
  }

  #checkName({ offset }: Token, name: string): string {
    if (name === '') {
      throw this.#error({ text: ':', offset }, 'Missing agent before the colon.')
    }
    if (name === '@') throw this.#error({ text: '@', offset }, "Missing chain name after '@'.")
    if (!name.startsWith('-')) return name
    throw this.#error(
      { text: name, offset },
      `An agent's name cannot begin with '-': '${name}'.`,
      `Use ./${name} for a program in this folder, or '->' if you meant an arrow.`,
    )
  }

  /** A mistake, with carets under it. */
  #error(place: Token, problem: string, hint?: string): UserError {
    const start = this.#text.lastIndexOf('\n', place.offset - 1) + 1
    const [line = ''] = this.#text.slice(start).split('\n', 1)
    const at = place.offset - start
    const shown = pointAt({ text: line, start: at, end: at + place.text.length })
    return new UserError(`${problem}\n${shown}`, hint)
  }
}

function makeGroup(kind: Kind, items: readonly ParsedItem[]): ParsedItem {
  if (kind === 'parallel') return { parallel: items }
  return kind === 'fallback' ? { fallback: items } : { sequence: items }
}

/** Counts after a parenthesis or a space are separate tokens: `(a):3*4`. */
function splitCounts(match: RegExpExecArray): Token[] {
  const { 0: text, index } = match
  if (!/^(?:[:*]\d*)+$/.test(text)) return [{ text, offset: index }]
  return [...text.matchAll(/[:*]\d*/g)].map((part) => ({
    text: part[0],
    offset: index + part.index,
  }))
}

/** Joins parts with one operator; adds parentheses around parts that use others. */
function joinBy(sign: string, parts: readonly string[]): string {
  const groups: string[][] = [[]]
  for (const part of parts) {
    if (part === sign) groups.push([])
    else groups.at(-1)!.push(part)
  }
  return groups
    .map((group) => (group.length > 1 ? `(${joinBy(group[1]!, group)})` : group.join('')))
    .join(` ${sign} `)
}

function isSign(text: string): text is Sign {
  return Object.hasOwn(KIND_OF_SIGN, text)
}

function countProblem(word: string, count: string): string {
  if (count === '') return `Missing count after the colon in '${word}'.`
  if (/^[-+]?\d+(\.\d+)?$/.test(count)) {
    return `The count '${count}' is not a whole number from 1 to ${MAX_ITERATIONS}.`
  }
  return `The count '${count}' is not a number, and there is no agent named '${word}'.`
}
