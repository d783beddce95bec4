import { resolve } from 'node:path'
import type { FileRead } from './engine.ts'

/** What a transcript says about itself besides the files. */
export interface Session {
  /** A UUID; the file is to be called `<id>.jsonl`. */
  readonly id: string
  readonly cwd: string
  readonly model: string
  readonly now: Date
}

type Message = Readonly<Record<string, unknown>>

/** `claude` would put words of its own between the results and a prompt that followed them at once. */
const ACKNOWLEDGEMENT = 'I am ready for the task.'

/**
 * A session in which the agent has read these files already, for `claude --resume FILE`. What is
 * mandatory in a line differs from version to version and is missed in silence: all of it is written.
 */
export function makeTranscript(reads: readonly FileRead[], session: Session): string {
  const calls = reads.map((read, index) => ({
    read,
    id: toolId(read, index),
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

/** The same for the same reads, so that caches of prompts hold from iteration to iteration. */
function toolId({ path }: FileRead, index: number): string {
  const hash = new Bun.CryptoHasher('sha256').update(path).digest('hex')
  return `toolu_read_${index}_${hash.slice(0, 12)}`
}

function resultOf(read: FileRead): Message {
  return read.ok
    ? { type: 'tool_result', content: numberLines(read.text) }
    : { type: 'tool_result', content: read.error, is_error: true }
}

/** As the tool itself does it: without the mark at the beginning and without carriage returns. */
function numberLines(text: string): string {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines.length === 1 && lines[0] === '') return EMPTY
  return lines.map((line, index) => `${index + 1}\t${line}`).join('\n')
}

const EMPTY =
  '<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>'

function assistant(
  id: string,
  { model }: Session,
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

/** File systems know later ones. */
const LAST_DATE = 8.64e15

/** `claude` lets nobody change a file whose time is later than that of its reading. */
function timeOf(reads: readonly FileRead[], { now }: Session): string {
  const times = reads.map((read) => (read.ok ? Math.ceil(read.mtimeMs) : 0))
  const latest = Math.max(now.getTime(), ...times)
  return new Date(Math.min(latest, LAST_DATE)).toISOString()
}

function renderLines(messages: readonly Message[], timestamp: string, session: Session): string {
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
