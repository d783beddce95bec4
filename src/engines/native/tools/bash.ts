import * as z from 'zod/mini'
import { unreachable } from '../../../base/errors.ts'
import { shellQuote } from '../../../base/shell-quote.ts'
import { HeadAndTail } from './head-and-tail.ts'
import { makeTool, numberField, textField } from './make-tool.ts'
import { fail } from './problems.ts'
import type { Executed, ToolAnswer, Workspace } from './tool.ts'

const DEFAULT_SECONDS = 120
const MOST_SECONDS = 600
const HEAD_BYTES = 12_000
/** Larger than the head, because errors are mostly at the end. */
const TAIL_BYTES = 20_000

const isCommand = (value: string) => value.trim() !== '' && !value.includes('\0')

export const bashTool = makeTool({
  name: 'bash',
  description:
    'Runs a shell command in the project folder, in a new shell each time, without stdin. Processes left in the background are killed. The middle of long output is omitted.',
  schema: z.strictObject({
    command: textField('a command as text').check(
      z.refine(isCommand, { error: 'a command that is not empty and has no NUL' }),
    ),
    timeout: z.optional(
      numberField(1, MOST_SECONDS).check(z.describe(`seconds, default ${DEFAULT_SECONDS}`)),
    ),
  }),
  brief: ({ command }) => command,
  call: ({ command, timeout: seconds = DEFAULT_SECONDS }, workspace, signal) => {
    const output = new HeadAndTail(HEAD_BYTES, TAIL_BYTES)
    const hint = `timeout can be at most ${MOST_SECONDS}`
    return runShell({ line: inBash(command), seconds, hint, output }, workspace, signal)
  },
})

/** Models write for bash; without it, sh runs most commands. */
function inBash(command: string): string {
  return `shell=$(command -v bash) || shell=/bin/sh; exec "$shell" -c ${shellQuote(command)}`
}

interface Command {
  readonly line: string
  readonly seconds: number
  /** What to do if that is too short. */
  readonly hint: string
  readonly output: HeadAndTail
}

/** Runs a command without stdin, and answers with its output and how it ended. */
export async function runShell(
  { line, seconds, hint, output }: Command,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  if (signal.aborted) return fail('[stopped]')
  const executed = await workspace.exec(`${line} </dev/null`, {
    timeoutMs: seconds * 1000,
    signal,
    take: (bytes) => output.add(bytes),
  })
  const end = describeEnd(executed, `after ${seconds} seconds; ${hint}`)
  const lines = [output.text, `[${end}]`].filter((each) => each !== '').join('\n')
  return executed.kind === 'exited' && executed.code === 0 ? { text: lines } : fail(lines)
}

function describeEnd(executed: Executed, late: string): string {
  switch (executed.kind) {
    case 'exited':
      return `exit code ${executed.code}`
    case 'signalled':
      return `ended by ${executed.signal}`
    case 'timed_out':
      return `stopped ${late}`
    case 'stopped':
      return 'stopped'
    case 'failed':
      return `could not start: ${executed.error}`
    default:
      return unreachable(executed)
  }
}
