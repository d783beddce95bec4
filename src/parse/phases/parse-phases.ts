import { CommandLine, type Fill } from './command-line.ts'
import { isBlank, LineNumbers, linesBack, linesFrom, type Line } from './lines.ts'
import { withoutEscapes } from './literals.ts'
import { isCommand, parseSetupCommand, parseTeardownCommand } from './parse-command.ts'
import type { Phases, PushCommand, SetupCommand } from './phases.ts'
import { PromptError } from './prompt-error.ts'

const BYTE_ORDER_MARK = '\uFEFF'

/** No queue takes more tasks. */
const MOST_COMMANDS = 10_000

/**
 * Reads a prompt as setup, content and teardown, or throws a `UserError` with the place. A command
 * begins in the first column of its line. `where` is what a message calls the prompt. Where the
 * text has stand-ins for values, options get what `fill` makes of them; paths, prompts and the
 * content keep them.
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

/** No program can be handed a NUL byte as an argument, and no person writes one. */
function refuseNul(text: string, where: string): void {
  const at = text.indexOf('\0')
  if (at === -1) return
  const from = text.lastIndexOf('\n', at) + 1
  const line = new LineNumbers(text).numberAt(at)
  const [first] = linesFrom(text, from)
  const place = { where, line, text: first!.text, start: at - from, end: at - from + 1 }
  throw new PromptError(place, 'The prompt has a NUL byte.', 'A prompt is text.')
}

function refuseTooMany(lines: readonly Line[], text: string, where: string): void {
  const surplus = lines[MOST_COMMANDS]
  if (surplus === undefined) return
  const line = new LineNumbers(text).numberAt(surplus.start)
  const place = { where, line, text: surplus.text, start: 0, end: surplus.text.length }
  throw new PromptError(
    place,
    `A prompt has at most ${MOST_COMMANDS} commands.`,
    'Let an agent queue them with forkhestra push.',
  )
}

/** The commands at the beginning, one too many at most, and where the content begins. */
function findSetup(text: string, start: number): { lines: Line[]; end: number } {
  const lines: Line[] = []
  for (const line of linesFrom(text, start)) {
    if (lines.length > MOST_COMMANDS) return { lines, end: text.length }
    if (isCommand(line.text)) lines.push(line)
    // Blank lines belong to commands; without any they are the content's.
    else if (!isBlank(line)) return { lines, end: lines.length === 0 ? 0 : line.start }
  }
  return { lines, end: lines.length === 0 ? 0 : text.length }
}

/** The commands at the end, one too many at most, and where the content before them ends. */
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

/** Two tasks of one name could not both be queued, and the first would be by then. */
function claimName(line: CommandLine, command: PushCommand, taken: Map<string, number>): void {
  const { name, on = 'success' } = command
  if (name === undefined) return
  // What follows a success and what follows a failure never meet.
  for (const end of on === 'always' ? ['success', 'failure'] : [on]) {
    const other = taken.get(`${end} ${name}`)
    if (other !== undefined) {
      const problem = `The task on line ${other} is called '${name}' too.`
      throw line.refuse({ start: 0, end: '/push'.length }, problem, 'Give each its own name.')
    }
    taken.set(`${end} ${name}`, line.line)
  }
}
