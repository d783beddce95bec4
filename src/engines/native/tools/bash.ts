import * as z from 'zod/mini'
import { unreachable } from '../../../base/errors.ts'
import { text, whole } from './fields.ts'
import { HeadAndTail } from './head-and-tail.ts'
import { makeTool } from './make-tool.ts'
import { shellQuote } from '../../../base/shell-quote.ts'
import type { AgentTool, Executed, ToolAnswer, Workspace } from './tool.ts'

const DEFAULT_SECONDS = 120
const MOST_SECONDS = 600
const HEAD_BYTES = 12_000
/** Larger than the head, because errors are mostly at the end. */
const TAIL_BYTES = 20_000

const isCommand = (value: string) => value.trim() !== '' && !value.includes('\0')

const schema = z.strictObject({
  command: text('a command as text').check(
    z.refine(isCommand, { error: 'a command that is not empty and has no NUL' }),
  ),
  timeout: z.optional(
    whole(1, MOST_SECONDS).check(z.describe(`seconds, default ${DEFAULT_SECONDS}`)),
  ),
})

type Input = z.output<typeof schema>

export function makeBashTool(): AgentTool {
  return makeTool({
    name: 'bash',
    description:
      'Runs a shell command in the project folder, in a new shell each time, without stdin. Processes left in the background are killed. The middle of long output is omitted.',
    schema,
    brief: ({ command }) => command,
    call: runCommand,
  })
}

async function runCommand(
  input: Input,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const output = new HeadAndTail(HEAD_BYTES, TAIL_BYTES)
  const seconds = input.timeout ?? DEFAULT_SECONDS
  const executed = await workspace.exec(inBash(input.command), {
    timeoutMs: seconds * 1000,
    signal,
    take: (bytes) => output.add(bytes),
  })
  const lines = [output.text, describeEnd(executed, seconds)].filter((line) => line !== '')
  const isOk = executed.kind === 'exited' && executed.code === 0
  return { text: lines.join('\n'), ...(isOk ? {} : { isError: true }) }
}

/** Models write for bash; without it, sh runs most commands. */
function inBash(command: string): string {
  return `shell=$(command -v bash) || shell=/bin/sh; exec "$shell" -c ${shellQuote(command)} </dev/null`
}

function describeEnd(executed: Executed, seconds: number): string {
  switch (executed.kind) {
    case 'exited':
      return `[exit code ${executed.code}]`
    case 'signalled':
      return `[ended by ${executed.signal}]`
    case 'timed_out':
      return `[stopped after ${seconds} seconds; timeout may be up to ${MOST_SECONDS}]`
    case 'stopped':
      return '[stopped]'
    case 'failed':
      return `[could not start: ${executed.error}]`
    default:
      return unreachable(executed)
  }
}
