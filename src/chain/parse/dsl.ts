import { UserError } from '../../base/errors.ts'
import { findLookalike, guessCommand, withArrows, type Token } from './dsl-guess.ts'
import { pointAt } from './prompt/prompt-error.ts'

export const MAX_ITERATIONS = 100_000

type IsAgent = (name: string) => boolean

interface DslStep {
  readonly agent: string
  /** Absent: once. */
  readonly iterations?: number | undefined
}

/**
 * Parses `a:3 -> b`. Names may contain colons, so `isAgent` decides whether `x:abc` is a name. It is
 * called only if the part after the last colon is not a number, or for a hint.
 */
export function parseDsl(text: string, isAgent: IsAgent): DslStep[] {
  if (text.trim() === '') {
    throw new UserError(
      'The chain is empty.',
      'Name at least one agent, for example: forkhestra "planner:3 -> builder:20"',
    )
  }
  return new Parser(text, isAgent).parseSequence()
}

const TOKEN = /->|\|\||[()&|]|(?:(?!->|[()&|])\S)+/g

const RESERVED = new Map([
  ['(', 'Groups in parentheses'],
  [')', 'Groups in parentheses'],
  ['&', "Parallel agents with '&'"],
  ['||', "Fallback agents with '||'"],
  ['|', "Fallback agents with '||'"],
])

class Parser {
  readonly #text: string
  readonly #isAgent: IsAgent
  readonly #tokens: Iterator<Token, undefined>

  constructor(text: string, isAgent: IsAgent) {
    this.#text = text
    this.#isAgent = isAgent
    this.#tokens = text
      .matchAll(TOKEN)
      .map((match): Token => ({ text: match[0], offset: match.index }))
    const lookalike = findLookalike(text)
    if (lookalike === undefined) return
    const problem = `Agents are joined with '->', not with '${lookalike.text}'.`
    throw this.#error(lookalike, problem, `Write: ${withArrows(text)}`)
  }

  /** `item -> item …` */
  parseSequence(): DslStep[] {
    const steps = [this.#parseItem()]
    for (let arrow = this.#takeArrow(); arrow !== undefined; arrow = this.#takeArrow()) {
      steps.push(this.#parseItem(arrow))
    }
    return steps
  }

  #take(): Token | undefined {
    const token = this.#tokens.next().value
    const reserved = RESERVED.get(token?.text ?? '')
    if (token === undefined || reserved === undefined) return token
    const hint = "A chain is a sequence: join the agents with '->'."
    throw this.#error(token, notYet(reserved), hint)
  }

  #takeArrow(): Token | undefined {
    const token = this.#take()
    if (token === undefined || token.text === '->') return token
    const before = this.#text.slice(0, token.offset).trim()
    const after = this.#text.slice(token.offset).trim()
    throw this.#error(
      token,
      `'->' is missing before '${token.text}'.`,
      `Write: ${guessCommand(before, after, this.#isAgent)}\nArguments for the agents go after --.`,
    )
  }

  /** An agent with its count. */
  #parseItem(arrow?: Token): DslStep {
    const token = this.#take()
    if (token === undefined) throw this.#error(arrow!, "An agent is missing after '->'.")
    if (token.text === '->') throw this.#error(token, "An agent is missing before '->'.")
    this.#refuseReserved(token)
    const colon = token.text.lastIndexOf(':')
    if (colon === -1) return { agent: this.#checkName(token, token.text) }
    const [name, count] = [token.text.slice(0, colon), token.text.slice(colon + 1)]
    if (/^\d+$/.test(count)) {
      const agent = this.#checkName(token, name)
      const iterations = Number(count)
      if (iterations >= 1 && iterations <= MAX_ITERATIONS) return { agent, iterations }
    } else if (count !== '' && this.#isAgent(token.text)) {
      return { agent: token.text }
    }
    const joined = this.#text.replaceAll(/:\s+(?=\d)/g, ':')
    const shown = name || 'agent'
    throw this.#error(
      { text: count, offset: token.offset + colon + 1 },
      countProblem(token.text, count),
      count === '' && joined !== this.#text
        ? `Write: ${withArrows(joined)}`
        : `Write ${shown}:N for at most N iterations, N from 1 to ${MAX_ITERATIONS}, or ${shown} to run it once.`,
    )
  }

  /** Refuses reserved syntax, unless an agent has exactly this name. */
  #refuseReserved({ text: word, offset }: Token): void {
    const [copies] = /\*\d+$/.exec(word) ?? []
    if ((copies === undefined && !word.startsWith('@')) || this.#isAgent(word)) return
    if (copies === undefined) {
      const hint = `To run a named chain: forkhestra --chain ${word.slice(1)}`
      throw this.#error({ text: '@', offset }, notYet("Nested chains with '@'"), hint)
    }
    const start = word.length - copies.length
    const hint = `For a loop write ${word.slice(0, start)}:${copies.slice(1)}`
    throw this.#error({ text: copies, offset: offset + start }, notYet("Copies with '*'"), hint)
  }

  #checkName({ offset }: Token, name: string): string {
    if (name === '') {
      throw this.#error({ text: ':', offset }, 'The agent before the colon is missing.')
    }
    if (!name.startsWith('-')) return name
    throw this.#error(
      { text: name, offset },
      `An agent's name cannot begin with '-': '${name}'.`,
      `Write ./${name} for a program in this folder, or '->' if the arrow was meant.`,
    )
  }

  /** A mistake, shown with carets under the place. */
  #error(place: Token, problem: string, hint?: string): UserError {
    const start = this.#text.lastIndexOf('\n', place.offset - 1) + 1
    const [line = ''] = this.#text.slice(start).split('\n', 1)
    const at = place.offset - start
    const shown = pointAt({ text: line, start: at, end: at + place.text.length })
    return new UserError(`${problem}\n${shown}`, hint)
  }
}

function notYet(what: string): string {
  return `${what} are not available yet.`
}

function countProblem(word: string, count: string): string {
  if (count === '') return `The count after the colon is missing in '${word}'.`
  if (/^[-+]?\d+(\.\d+)?$/.test(count)) {
    return `The count '${count}' is not a whole number from 1 to ${MAX_ITERATIONS}.`
  }
  return `The count '${count}' is not a number, and no agent is called '${word}'.`
}
