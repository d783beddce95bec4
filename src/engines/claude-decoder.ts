import { readResult } from './claude-result.ts'
import type { Decoder, Fact } from './engine.ts'
import { LineReader } from './line-reader.ts'
import { MarkerScanner } from './marker.ts'
import { toolBrief } from './tool-brief.ts'

const NO_RESULT = { kind: 'error', message: 'it ended in the middle of its answer' } as const

/** What the CLI says in the name of the model, such as the text of a server's error. */
const SYNTHETIC = '<synthetic>'

/** An event of the stream; what it holds is looked at with care, for it changes with the version. */
type Event = Readonly<Record<string, unknown>>

/** Reads what `claude --output-format stream-json` prints. A line that is no event is text. */
export class ClaudeDecoder implements Decoder {
  readonly #lines = new LineReader((line) => this.#take(line))
  readonly #looksForMarker: boolean
  #facts: Fact[] = []
  /** Of the message that is being said: its fences are its own. */
  #scanner: MarkerScanner | undefined
  #message: unknown
  /** Of lines that are no events, which a wrapper or a stand-in prints. */
  #plain: MarkerScanner | undefined
  #hasText = false
  #hasResult = false
  #isUnanswered = false

  constructor(looksForMarker: boolean) {
    this.#looksForMarker = looksForMarker
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
        this.#facts.push(...readResult(event))
    }
  }

  #takeText(line: string): void {
    if (line === '' && !this.#hasText) return
    this.#hasText = true
    this.#facts.push({ type: 'message', text: line })
    if (!this.#looksForMarker) return
    this.#plain ??= new MarkerScanner()
    this.#facts.push(...this.#plain.push(Buffer.from(`${line}\n`)))
  }

  #takeSystem(event: Event): void {
    const { subtype, session_id: id, model } = event
    if (subtype === 'api_retry') this.#facts.push({ type: 'notice', text: retryWords(event) })
    if (subtype !== 'init' || typeof id !== 'string') return
    this.#facts.push({ type: 'session', id, ...(typeof model === 'string' ? { model } : {}) })
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
  }

  /** Only the agent's own words: what tools answer and what sub-agents say does not count. */
  #scan(text: string, message: unknown): void {
    if (!this.#looksForMarker) return
    if (message === undefined || message !== this.#message) this.#endMessage()
    // Most messages have nothing that a marker, or a fence around one, could be.
    if (this.#scanner === undefined && !/complete|```|~~~/i.test(text)) return
    this.#message = message
    this.#scanner ??= new MarkerScanner()
    this.#facts.push(...this.#scanner.push(Buffer.from(`${text}\n`)))
  }

  #endMessage(): void {
    this.#facts.push(...(this.#scanner?.end() ?? []))
    this.#scanner = undefined
  }

  #takeLimit(event: Event): void {
    const info = asObject(event['rate_limit_info'])
    const status = info?.['status']
    if (info === undefined || typeof status !== 'string') return
    const { resetsAt, rateLimitType: kind, utilization } = info
    this.#facts.push({
      type: 'limit',
      status,
      ...(isTime(resetsAt) ? { resetsAt } : {}),
      ...(typeof kind === 'string' ? { kind } : {}),
      ...(typeof utilization === 'number' ? { utilization } : {}),
    })
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

/** Seconds since 1970, as far as a calendar goes. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 8.64e12
}

/** Undefined where the line is no event. */
function parseEvent(line: string): Event | undefined {
  if (!line.trimStart().startsWith('{')) return undefined
  try {
    const value = asObject(JSON.parse(line))
    return typeof value?.['type'] === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

function asObject(value: unknown): Event | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Event)
    : undefined
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
