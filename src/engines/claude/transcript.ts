import { resolve } from 'node:path'
import { readCallId } from '../context-block.ts'
import type { FileRead } from '../engine.ts'

export interface Transcript {
  /** A UUID; the file must be called `<id>.jsonl`. */
  readonly id: string
  readonly cwd: string
  readonly model: string
  readonly now: Date
}

type Message = Readonly<Record<string, unknown>>

/** Without it, `claude` inserts its own message between the results and the prompt. */
const ACKNOWLEDGEMENT = 'I am ready for the task.'

/**
 * A session in which the agent has already read these files, for `claude --resume FILE`. Which fields
 * are mandatory depends on the version, and missing ones are not reported: all are written.
 */
export function makeTranscript(reads: readonly FileRead[], session: Transcript): string {
  const calls = reads.map((read, index) => ({
    read,
    id: readCallId(read.path, index),
    file: resolve(session.cwd, read.path),
  }))
  const uses = calls.map(({ id, file }) => ({
    type: 'tool_use',
    id,
    name: 'Read',
    input: { file_path: file },
  }))
  const results = calls.map(({ id, read }) => ({ tool_use_id: id, ...resultOf(read) }))
  return renderLines(
    [
      { role: 'user', content: 'Read these files first.' },
      assistant('msg_reads_1', session, uses, 'tool_use'),
      { role: 'user', content: results },
      assistant('msg_reads_2', session, [{ type: 'text', text: ACKNOWLEDGEMENT }], 'end_turn'),
    ],
    timeOf(reads, session),
    session,
  )
}

function resultOf(read: FileRead): Message {
  return read.ok
    ? { type: 'tool_result', content: numberLines(read.text) }
    : { type: 'tool_result', content: read.error, is_error: true }
}

/** As the Read tool does it: without byte order mark and carriage returns. */
function numberLines(text: string): string {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines.length === 1 && lines[0] === '') return EMPTY
  return lines.map((line, index) => `${index + 1}\t${line}`).join('\n')
}

const EMPTY =
  '<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>'

function assistant(
  id: string,
  { model }: Transcript,
  content: readonly Message[],
  stopReason: string,
): Message {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: {
      input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 0,
    },
  }
}

/** The last time that `Date` supports; file times may be later. */
const LAST_DATE = 8.64e15

/** `claude` refuses to edit a file that was modified after it was read. */
function timeOf(reads: readonly FileRead[], { now }: Transcript): string {
  const times = reads.map((read) => (read.ok ? Math.ceil(read.mtimeMs) : 0))
  const latest = Math.max(now.getTime(), ...times)
  return new Date(Math.min(latest, LAST_DATE)).toISOString()
}

function renderLines(messages: readonly Message[], timestamp: string, session: Transcript): string {
  let parentUuid: string | null = null
  let text = ''
  for (const message of messages) {
    const uuid: string = crypto.randomUUID()
    const line = {
      parentUuid,
      isSidechain: false,
      type: message['role'],
      message,
      uuid,
      timestamp,
      userType: 'external',
      cwd: session.cwd,
      sessionId: session.id,
      version: '2.1.325',
      gitBranch: '',
    }
    text += `${JSON.stringify(line)}\n`
    parentUuid = uuid
  }
  return text
}
