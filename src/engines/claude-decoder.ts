import { billingOf } from './claude-billing.ts'
import { asList, asObject, parseEvent, readLimit, type Event } from './claude-event.ts'
import { readResult } from './claude-result.ts'
import { RunningUsage } from './claude-usage.ts'
import type { Decoder, Fact } from './engine.ts'
import { LineReader } from './line-reader.ts'
import { MarkerScanner } from './marker.ts'
import { plainDecoder } from './plain-decoder.ts'
import { toolBrief } from './tool-brief.ts'

const NO_RESULT = { kind: 'error', message: 'it ended in the middle of its answer' } as const

/** What the CLI says in the name of the model, such as the text of a server's error. */
const SYNTHETIC = '<synthetic>'

/** Most messages have nothing that a line for us, or a fence around one, could be. */
const MAY_MATTER = /complete|blocked|```|~~~/i

/** Reads what `claude --output-format stream-json` prints. A line that is no event is text. */
export class ClaudeDecoder implements Decoder {
  readonly #lines = new LineReader((line) => this.#take(line))
  readonly #looksForMarker: boolean
  readonly #now: () => Date
  readonly #usage = new RunningUsage()
  #facts: Fact[] = []
  /** Of the message that is being said: its fences are its own. */
  #scanner: MarkerScanner | undefined
  #message: unknown
  /** Of lines that are no events, which a wrapper or a stand-in prints. */
  #plain: Decoder | undefined
  /** What was said last of a quota that is used up. */
  #rejected: ReturnType<typeof readLimit>
  #hasText = false
  #hasResult = false
  #isUnanswered = false

  constructor(looksForMarker: boolean, now = () => new Date()) {
    this.#looksForMarker = looksForMarker
    this.#now = now
  }

  push(bytes: Uint8Array): readonly Fact[] {
    this.#lines.push(bytes)
    return this.#takeFacts()
  }

  end(): readonly Fact[] {
    this.#lines.end()
    this.#endMessage()
    this.#facts.push(...(this.#plain?.end() ?? []))
    if (this.#isUnanswered) this.#facts.push({ type: 'failure', failure: NO_RESULT })
    return this.#takeFacts()
  }

  #takeFacts(): readonly Fact[] {
    const facts = this.#facts
    if (facts.length > 0) this.#facts = []
    return facts
  }

  #take(bytes: Buffer): void {
    if (isOfTools(bytes)) return
    const line = bytes.toString('utf8')
    const event = parseEvent(line)
    if (event === undefined) return this.#takeText(line)
    this.#isUnanswered = event['type'] !== 'result' && !this.#hasResult
    switch (event['type']) {
      case 'system':
        return this.#takeSystem(event)
      case 'assistant':
        return this.#takeMessage(event)
      case 'rate_limit_event':
        return this.#takeLimit(event)
      case 'result':
        this.#hasResult = true
        this.#endMessage()
        this.#facts.push(...readResult(event, this.#rejected, this.#now()))
    }
  }

  #takeText(line: string): void {
    if (line === '' && !this.#hasText) return
    this.#hasText = true
    this.#facts.push({ type: 'message', text: line })
    this.#plain ??= plainDecoder('out', this.#looksForMarker, this.#now)
    this.#facts.push(...this.#plain.push(Buffer.from(`${line}\n`)))
  }

  #takeSystem(event: Event): void {
    const { subtype, session_id: id, model } = event
    if (subtype === 'api_retry') this.#facts.push({ type: 'notice', text: retryWords(event) })
    if (subtype !== 'init' || typeof id !== 'string') return
    const billing = billingOf(event)
    this.#facts.push({
      type: 'session',
      id,
      ...(typeof model === 'string' ? { model } : {}),
      ...(billing === undefined ? {} : { billing }),
    })
  }

  #takeMessage(event: Event): void {
    const message = asObject(event['message'])
    const parent = event['parent_tool_use_id']
    const from = typeof parent === 'string' ? { parent } : {}
    if (message === undefined) return
    for (const block of asList(message['content']).map(asObject)) {
      if (block?.['type'] === 'text' && typeof block['text'] === 'string') {
        this.#facts.push({ type: 'message', text: block['text'], ...from })
        const isOwn = typeof parent !== 'string' && message['model'] !== SYNTHETIC
        if (isOwn) this.#scan(block['text'], message['id'])
      } else if (block?.['type'] === 'tool_use' && typeof block['name'] === 'string') {
        const { name, input } = block
        this.#facts.push({ type: 'tool', name, brief: toolBrief(input), ...from })
      }
    }
    const tokens = this.#usage.take(message['id'], message['usage'])
    if (tokens !== undefined) this.#facts.push({ type: 'usage', tokens })
  }

  /** Only the agent's own words: what tools answer and what sub-agents say does not count. */
  #scan(text: string, message: unknown): void {
    if (message === undefined || message !== this.#message) this.#endMessage()
    if (this.#scanner === undefined && !MAY_MATTER.test(text)) return
    this.#message = message
    this.#scanner ??= new MarkerScanner({ looksForMarker: this.#looksForMarker })
    this.#facts.push(...this.#scanner.push(Buffer.from(`${text}\n`)))
  }

  #endMessage(): void {
    this.#facts.push(...(this.#scanner?.end() ?? []))
    this.#scanner = undefined
  }

  #takeLimit(event: Event): void {
    const limit = readLimit(event)
    if (limit === undefined) return
    if (limit.status === 'rejected') this.#rejected = limit
    this.#facts.push(limit)
  }
}

const LONG_BYTES = 512
const BRACE = 123
const TOOLS = Buffer.from('"user"')
const OTHERS = ['"assistant"', '"result"', '"system"', '"rate_limit_event"'].map((text) =>
  Buffer.from(text),
)

/**
 * What tools answer is most of the stream and says nothing to us: a long event of theirs need not be
 * parsed. Inside of their texts each quote has a backslash, so that they do not look like others.
 */
function isOfTools(line: Buffer): boolean {
  if (line.length < LONG_BYTES || line[0] !== BRACE || !line.includes(TOOLS)) return false
  return !OTHERS.some((needle) => line.includes(needle))
}

function retryWords(event: Event): string {
  const { attempt, max_retries: most, retry_delay_ms: delay, error_status: status, error } = event
  const seconds = typeof delay === 'number' ? ` in ${Math.round(delay / 1000)} s` : ''
  const why = [status, error].filter((part) => ['number', 'string'].includes(typeof part))
  return `claude tries again${seconds} (${String(attempt)}/${String(most)}): ${why.join(' ')}`
}
