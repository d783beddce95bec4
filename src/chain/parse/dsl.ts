import { UserError } from '../../base/errors.ts'
import { findLookalike, guessCommand, withArrows } from './dsl-guess.ts'

/** One step as typed; `loop`, the number of iterations, is absent if the agent runs once. */
export interface DslStep {
  readonly agent: string
  readonly loop?: number
}

export const MAX_ITERATIONS = 100_000

/** A mistake in the text of a chain, shown with carets under the place. */
class DslError extends UserError {
  constructor(text: string, offset: number, length: number, problem: string, hint?: string) {
    super(`${problem}\n${pointAt(text, offset, length)}`, hint)
  }
}

type IsAgent = (name: string) => boolean

interface Token {
  readonly text: string
  readonly offset: number
}

const RESERVED = new Map([
  ['(', 'Groups in parentheses'],
  [')', 'Groups in parentheses'],
  ['&', "Parallel agents with '&'"],
  ['||', "Fallback agents with '||'"],
  ['|', "Fallback agents with '||'"],
])

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
  checkArrows(text)
  const steps: DslStep[] = []
  let previous: Token | undefined
  for (const token of tokenize(text)) {
    const isArrow = token.text === '->'
    if (isArrow && (previous === undefined || previous.text === '->')) {
      throw new DslError(text, token.offset, 2, "An agent is missing before '->'.")
    }
    if (!isArrow) {
      if (previous !== undefined && previous.text !== '->') {
        const { offset } = token
        const [before, after] = [text.slice(0, offset).trim(), text.slice(offset).trim()]
        throw new DslError(
          text,
          offset,
          token.text.length,
          `'->' is missing before '${token.text}'.`,
          `Write: ${guessCommand(before, after, isAgent)}\nArguments for the agents go after --.`,
        )
      }
      steps.push(parseStep(text, token, isAgent))
    }
    previous = token
  }
  if (previous?.text === '->') {
    throw new DslError(text, previous.offset, 2, "An agent is missing after '->'.")
  }
  return steps
}

function checkArrows(text: string): void {
  const lookalike = findLookalike(text)
  if (lookalike === undefined) return
  throw new DslError(
    text,
    lookalike.offset,
    lookalike.text.length,
    `Agents are joined with '->', not with '${lookalike.text}'.`,
    `Write: ${withArrows(text)}`,
  )
}

function* tokenize(text: string): Generator<Token> {
  const pattern = /->|\|\||[()&|]|(?:(?!->|[()&|])\S)+/g
  for (const match of text.matchAll(pattern)) {
    const reserved = RESERVED.get(match[0])
    if (reserved !== undefined) {
      throw new DslError(
        text,
        match.index,
        match[0].length,
        notYet(reserved),
        "A chain is a sequence: join the agents with '->'.",
      )
    }
    yield { text: match[0], offset: match.index }
  }
}

function parseStep(text: string, token: Token, isAgent: IsAgent): DslStep {
  checkReserved(text, token, isAgent)
  const colon = token.text.lastIndexOf(':')
  if (colon === -1) return { agent: checkName(text, token, token.text) }
  const count = token.text.slice(colon + 1)
  if (/^\d+$/.test(count)) {
    const agent = checkName(text, token, token.text.slice(0, colon))
    const loop = Number(count)
    if (loop >= 1 && loop <= MAX_ITERATIONS) return { agent, loop }
  } else if (count !== '' && isAgent(token.text)) {
    return { agent: token.text }
  }
  const name = token.text.slice(0, colon)
  const joined = text.replaceAll(/:\s+(?=\d)/g, ':')
  const hint =
    count === '' && joined !== text
      ? `Write: ${withArrows(joined)}`
      : `Write ${name || 'agent'}:N for at most N iterations, N from 1 to ${MAX_ITERATIONS}, or ${name || 'agent'} to run it once.`
  throw new DslError(
    text,
    token.offset + colon + 1,
    Math.max(1, count.length),
    countProblem(token.text, count),
    hint,
  )
}

/** Refuses reserved syntax, unless an agent has exactly this name. */
function checkReserved(text: string, { text: word, offset }: Token, isAgent: IsAgent): void {
  const [copies] = /\*\d+$/.exec(word) ?? []
  if ((copies === undefined && !word.startsWith('@')) || isAgent(word)) return
  if (copies === undefined) {
    const hint = `To run a named chain: forkhestra --chain ${word.slice(1)}`
    throw new DslError(text, offset, 1, notYet("Nested chains with '@'"), hint)
  }
  const start = word.length - copies.length
  const hint = `For a loop write ${word.slice(0, start)}:${copies.slice(1)}`
  throw new DslError(text, offset + start, copies.length, notYet("Copies with '*'"), hint)
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

function checkName(text: string, token: Token, name: string): string {
  if (name === '') {
    throw new DslError(text, token.offset, 1, 'The agent before the colon is missing.')
  }
  if (name.startsWith('-')) {
    throw new DslError(
      text,
      token.offset,
      name.length,
      `An agent's name cannot begin with '-': '${name}'.`,
      `Write ./${name} for a program in this folder, or '->' if the arrow was meant.`,
    )
  }
  return name
}

/** The line with the place, and carets under it; a tab is shown as a space. */
function pointAt(text: string, offset: number, length: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const line = text.slice(start).split('\n', 1)[0]!.replaceAll('\t', ' ')
  const width = Bun.stringWidth(line.slice(0, offset - start))
  const carets = Bun.stringWidth(line.slice(offset - start, offset - start + length))
  return `  ${line}\n  ${' '.repeat(width)}${'^'.repeat(Math.max(1, carets))}`
}
