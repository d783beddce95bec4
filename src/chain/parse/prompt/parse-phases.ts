import { CommandLine, type Fill } from './command-line.ts'
import {
  findEdges,
  isBlank,
  isCommand,
  isLiteral,
  parseSetupCommand,
  parseTeardownCommand,
} from './parse-command.ts'
import type { Phases, PushCommand, SetupCommand } from './phases.ts'
import { PromptError } from './prompt-error.ts'

/** The default limit of a queue. */
const MOST_COMMANDS = 10_000

/**
 * Splits a prompt into setup, content and teardown, or throws a `UserError` with the position. Commands start
 * in column 1. `where` names the prompt in messages. If the text contains placeholders for values, `fill`
 * replaces them in options; paths, prompts and the content keep them.
 */
export function parsePhases(text: string, where: string, fill?: Fill): Phases {
  const [byteOrderMark = ''] = /^\uFEFF/.exec(text) ?? []
  const lines = text.slice(byteOrderMark.length).split('\n')
  refuseNul(lines, where)
  const { first, last } = findEdges(lines, (line) => !isBlank(line) && !isCommand(line))
  const commands = lines.flatMap((line, index) =>
    (index < first || index > last) && isCommand(line) ? [index] : [],
  )
  refuseTooMany(commands, lines, where)
  const open = (index: number) =>
    new CommandLine(where, index + 1, lines[index]!.replace(/\r$/, ''), fill)
  const before = commands.filter((index) => index < first)
  const after = commands.filter((index) => index > last)
  // Blank lines next to commands belong to the commands.
  const [from, to] = [before.length === 0 ? 0 : first, after.length === 0 ? undefined : last + 1]
  const content = withoutEscapes(lines.slice(from, to)).join('\n')
  return {
    setup: parseAll(before.map(open), parseSetupCommand),
    content:
      (before.length === 0 ? byteOrderMark : '') +
      (after.length === 0 ? content : content.replace(/\r$/, '')),
    teardown: parseAll(after.map(open), parseTeardownCommand),
  }
}

/** Program arguments cannot contain NUL bytes. */
function refuseNul(lines: readonly string[], where: string): void {
  const index = lines.findIndex((line) => line.includes('\0'))
  const text = lines[index]
  if (text === undefined) return
  const start = text.indexOf('\0')
  const place = { where, line: index + 1, text, start, end: start + 1 }
  throw new PromptError(place, 'The prompt contains a NUL byte.', 'A prompt must be text.')
}

function refuseTooMany(commands: readonly number[], lines: readonly string[], where: string): void {
  const index = commands[MOST_COMMANDS]
  if (index === undefined) return
  const text = lines[index]!
  throw new PromptError(
    { where, line: index + 1, text, start: 0, end: text.length },
    `A prompt can have at most ${MOST_COMMANDS} commands.`,
    'Queue further tasks with forkhestra push.',
  )
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

/** Refuses duplicate names before the first task is queued. */
function claimName(line: CommandLine, command: PushCommand, taken: Map<string, number>): void {
  const { name, on = 'success' } = command
  if (name === undefined) return
  // Tasks for success and tasks for failure are never queued together.
  for (const end of on === 'always' ? ['success', 'failure'] : [on]) {
    const other = taken.get(`${end} ${name}`)
    if (other !== undefined) {
      throw line.refuse(
        { start: 0, end: '/push'.length },
        `The task on line ${other} has the name '${name}' too.`,
        'Use a different name for each.',
      )
    }
    taken.set(`${end} ${name}`, line.line)
  }
}

/**
 * Removes the escaping slash of `//read …` and other commands at both ends of the content. The middle contains
 * no commands and is not changed.
 */
function withoutEscapes(lines: readonly string[]): string[] {
  const { first, last } = findEdges(lines, (line) => !isBlank(line) && !isLiteral(line))
  return lines.map((line, index) =>
    (index < first || index > last) && isLiteral(line) ? line.slice(1) : line,
  )
}
