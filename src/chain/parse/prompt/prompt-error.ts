import { UserError } from '../../../base/errors.ts'
import { printable } from '../../../base/terminal/printable.ts'

/** The position of a mistake: part of a line, in UTF-16 units as editors count them. */
export interface TextPlace {
  readonly where: string
  readonly line: number
  readonly text: string
  readonly start: number
  readonly end: number
}

/** A mistake in the commands of a prompt, with carets under it. */
export class PromptError extends UserError {
  constructor(place: TextPlace, problem: string, hint?: string) {
    const { where, line, start } = place
    super(`${where}:${line}:${start + 1}  ${shownProblem(problem)}\n${pointAt(place)}`, hint)
  }
}

const LONGEST_PROBLEM = 200
const WIDEST = 100
const BEFORE_PLACE = 60

/** Problems quote user input, which may be long or not printable. */
function shownProblem(problem: string): string {
  const start = problem.slice(0, LONGEST_PROBLEM)
  return `${printable(start).toWellFormed()}${start.length < problem.length ? '…' : ''}`
}

/** A long line is cut around the mistake; control characters are shown as spaces. */
export function pointAt({ text, start, end }: Pick<TextPlace, 'text' | 'start' | 'end'>): string {
  const from = text.length > WIDEST ? Math.max(0, start - BEFORE_PLACE) : 0
  const to = Math.min(text.length, from + WIDEST)
  const lead = from > 0 ? '…' : ''
  const before = lead + shown(text, from, start)
  const marked = shown(text, start, Math.min(end, to))
  const after = shown(text, Math.min(end, to), to) + (to < text.length ? '…' : '')
  const carets = '^'.repeat(Math.max(1, Bun.stringWidth(marked)))
  return `  ${before}${marked}${after}\n  ${' '.repeat(Bun.stringWidth(before))}${carets}`
}

function shown(text: string, from: number, to: number): string {
  // oxlint-disable-next-line no-control-regex
  const visible = text.slice(from, to).replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ')
  return visible.toWellFormed()
}
