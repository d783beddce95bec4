import { CommandLine, type Fill } from './command-line.ts'
import { isBlank, LineNumbers, linesBack, linesFrom, type Line } from './lines.ts'
import { isCommand, isLiteral, parseSetupCommand, parseTeardownCommand } from './parse-command.ts'
import type { Phases, PushCommand, SetupCommand } from './phases.ts'
import { PromptError } from './prompt-error.ts'

const BYTE_ORDER_MARK = '\uFEFF'

/** The default limit of a queue. */
const MOST_COMMANDS = 10_000

/**
 * Splits a prompt into setup, content and teardown, or throws a `UserError` with the place. Commands
 * begin in column 1. `where` names the prompt in messages. If the text contains placeholders for
 * values, `fill` replaces them in options; paths, prompts and the content keep them.
 */
export function parsePhases(text: string, where: string, fill?: Fill): Phases {
  refuseNul(text, where)
  const start = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0
  if (!text.startsWith('/', start) && !text.includes('\n/')) {
    return { setup: [], content: text, teardown: [] }
  }
  const top = findSetup(text, start)
  const bottom = findTeardown(text, top.end, MOST_COMMANDS - top.lines.length)
  refuseTooMany([...top.lines, ...bottom.lines], text, where)
  const numbers = new LineNumbers(text)
  const open = (line: Line) => new CommandLine(where, numbers.numberAt(line.start), line.text, fill)
  const setup = parseAll(top.lines.map(open), parseSetupCommand)
  const teardown = parseAll(bottom.lines.map(open), parseTeardownCommand)
  const content = text.slice(top.end, bottom.start)
  return { setup, content: withoutEscapes(content, top.end === 0 ? start : 0), teardown }
}

/** Arguments of programs cannot contain NUL bytes. */
function refuseNul(text: string, where: string): void {
  const at = text.indexOf('\0')
  if (at === -1) return
  const from = text.lastIndexOf('\n', at) + 1
  const line = new LineNumbers(text).numberAt(at)
  const [first] = linesFrom(text, from)
  const place = { where, line, text: first!.text, start: at - from, end: at - from + 1 }
  throw new PromptError(place, 'The prompt contains a NUL byte.', 'A prompt must be text.')
}

function refuseTooMany(lines: readonly Line[], text: string, where: string): void {
  const surplus = lines[MOST_COMMANDS]
  if (surplus === undefined) return
  const line = new LineNumbers(text).numberAt(surplus.start)
  const place = { where, line, text: surplus.text, start: 0, end: surplus.text.length }
  throw new PromptError(
    place,
    `A prompt can have at most ${MOST_COMMANDS} commands.`,
    'Queue further tasks with forkhestra push.',
  )
}

/** The commands at the beginning, at most one too many, and where the content begins. */
function findSetup(text: string, start: number): { lines: Line[]; end: number } {
  const lines: Line[] = []
  for (const line of linesFrom(text, start)) {
    if (lines.length > MOST_COMMANDS) return { lines, end: text.length }
    if (isCommand(line.text)) lines.push(line)
    // Blank lines belong to the commands; without commands they are content.
    else if (!isBlank(line)) return { lines, end: lines.length === 0 ? 0 : line.start }
  }
  return { lines, end: lines.length === 0 ? 0 : text.length }
}

/** The commands at the end, at most one too many, and where the content before them ends. */
function findTeardown(
  text: string,
  contentStart: number,
  most: number,
): { lines: Line[]; start: number } {
  const lines: Line[] = []
  for (const line of linesBack(text, contentStart)) {
    if (lines.length > most) return { lines: lines.toReversed(), start: line.end }
    if (isCommand(line.text)) lines.push(line)
    else if (!isBlank(line)) {
      return { lines: lines.toReversed(), start: lines.length === 0 ? text.length : line.end }
    }
  }
  return { lines: [], start: text.length }
}

function parseAll<T extends SetupCommand>(
  lines: readonly CommandLine[],
  parse: (line: CommandLine) => T,
): T[] {
  const taken = new Map<string, number>()
  return lines.map((line) => {
    const command = parse(line)
    if (command.kind === 'push') claimName(line, command, taken)
    return command
  })
}

/** Refuses duplicate names before the first of the tasks is queued. */
function claimName(line: CommandLine, command: PushCommand, taken: Map<string, number>): void {
  const { name, on = 'success' } = command
  if (name === undefined) return
  // Tasks after a success and tasks after a failure are never queued together.
  for (const end of on === 'always' ? ['success', 'failure'] : [on]) {
    const other = taken.get(`${end} ${name}`)
    if (other !== undefined) {
      const problem = `The task on line ${other} has the name '${name}', too.`
      throw line.refuse(
        { start: 0, end: '/push'.length },
        problem,
        'Use a different name for each.',
      )
    }
    taken.set(`${end} ${name}`, line.line)
  }
}

/**
 * Removes the escaping slash of `//read …` and other commands at both ends of the content. In the
 * middle nothing is a command, and nothing is changed.
 */
function withoutEscapes(content: string, start: number): string {
  if (!content.startsWith('//', start) && !content.includes('\n//')) return content
  const top = edge(linesFrom(content, start))
  const bottom = edge(linesBack(content, start))
  const offsets = [...new Set([...top, ...bottom])].toSorted((a, b) => a - b)
  const cuts = [0, ...offsets.map((offset) => offset + 1)]
  return cuts.map((from, index) => content.slice(from, offsets[index])).join('')
}

/** The offsets of escaped lines, up to the first line that is ordinary text. */
function edge(lines: Iterable<Line>): number[] {
  const offsets: number[] = []
  for (const line of lines) {
    if (isLiteral(line.text)) offsets.push(line.start)
    else if (!isBlank(line)) break
  }
  return offsets
}
