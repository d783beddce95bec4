import { counted } from '../../base/amounts.ts'
import { shorten } from '../../base/shorten.ts'
import { ToolResults } from '../../engines/claude/tool-results.ts'
import type { EventOf } from '../../records/events/event.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { HEAD_BYTES } from '../../records/journal/log-parts.ts'
import { readOutput } from '../../records/journal/read-run.ts'
import type { UnloggedOutput } from './unlogged-output.ts'

/** The log of an iteration as far as it was read. */
interface ReadLog {
  readonly log: string
  readonly results: ToolResults
  offset: number
  /** How many tools have ended. */
  ended: number
}

/** Finds the results of tools, which no event contains, in the logs of their agents. */
export class RecordedResults {
  readonly #folder: string
  readonly #unlogged: UnloggedOutput
  readonly #logs = new Map<string, ReadLog>()

  constructor(folder: string, unlogged: UnloggedOutput) {
    this.#folder = folder
    this.#unlogged = unlogged
  }

  /** The result of a tool; empty if there is none, or if it is far from the beginning of a long log. */
  take(event: EventOf<'tool_ended'>): string {
    const log = event.task === undefined ? this.#unlogged.logOf(event.scope) : undefined
    if (log === undefined) return ''
    const key = keyOfScope(event.scope)
    const before = this.#logs.get(key)
    const read = before?.log === log ? before : makeReadLog(log)
    this.#logs.set(key, read)
    // The result is printed before the event is written, so it is in the log.
    const { scope, step, iteration, attempt, at, run, worker } = event
    const place = { type: 'output', scope, step, iteration, attempt, at, run, worker } as const
    const part = {
      stream: 'out',
      log,
      offset: read.offset,
      bytes: HEAD_BYTES - read.offset,
    } as const
    const bytes = readOutput(this.#folder, { ...place, ...part })
    read.offset += bytes?.length ?? 0
    if (bytes !== undefined) read.results.push(bytes)
    return read.results.all[read.ended++] ?? ''
  }
}

function makeReadLog(log: string): ReadLog {
  return { log, results: new ToolResults(), offset: 0, ended: 0 }
}

const [MOST_LINES, MOST_COLUMNS] = [10, 200]

/** The result of a tool, indented below its call. */
export function quoteResult(text: string, isWhole: boolean): string {
  const lines = text.trimEnd().split('\n')
  if (lines.length === 1 && lines[0] === '') return ''
  const cut = lines.slice(0, MOST_LINES).map((line) => shorten(line, MOST_COLUMNS))
  const shown = isWhole ? lines : cut
  const more = lines.length - shown.length
  const rest = more > 0 ? [`… ${counted(more, 'more line')} (-vv shows all)`] : []
  return [...shown, ...rest].map((line) => `  | ${line}\n`).join('')
}
