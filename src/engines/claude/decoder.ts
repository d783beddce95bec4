import { dropUndefined } from '../../base/objects.ts'
import type { Decoder, Fact, LimitFact } from '../engine.ts'
import { LineReader } from '../line-reader.ts'
import { MarkerScanner } from '../marker/marker.ts'
import { failureDecoder, plainDecoder } from '../program/decoder.ts'
import { toolBrief } from '../tool-brief.ts'
import { asList, asObject, parseEvent, readLimit, type Event } from './event.ts'
import { ToolCalls } from './tool-calls.ts'
import { readResult, RunningUsage } from './result.ts'

/** Longer lines are skipped to save memory. */
const LONGEST_LINE = 64 * 1024 * 1024

const NO_RESULT = { kind: 'error', message: 'ended in the middle of its answer' } as const

/** Marks messages that the CLI writes itself, such as the text of an API error. */
const SYNTHETIC = '<synthetic>'

/**
 * Reads the output of `claude --output-format stream-json`. Lines that are not events are plain text. A
 * marker counts in them only if there are no events at all, because a wrapper may print nothing but text.
 */
export class ClaudeDecoder implements Decoder {
  readonly #lines = new LineReader(LONGEST_LINE, (line, length) => {
    // No relevant event is longer.
    if (length <= LONGEST_LINE) this.#take(line)
  })
  readonly #looksForMarker: boolean
  readonly #now: () => Date
  readonly #usage = new RunningUsage()
  readonly #calls = new ToolCalls()
  #facts: Fact[] = []
  /** For the current message only, because code fences do not span messages. */
  #scanner: MarkerScanner | undefined
  #message: unknown
  /** For lines that are not events, printed by wrapper scripts. */
  #plain: Decoder | undefined
  /** What was found in them before the first event. */
  #early: Fact[] = []
  /** The last usage limit that was reached. */
  #rejected: LimitFact | undefined
  #hasText = false
  #hasEvents = false
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
    this.#endPlainText()
    if (this.#isUnanswered) this.#facts.push({ type: 'failure', failure: NO_RESULT })
    return this.#takeFacts()
  }

  #takeFacts(): readonly Fact[] {
    const facts = this.#facts
    this.#facts = []
    return facts
  }

  #take(bytes: Buffer): void {
    const line = bytes.toString().replace(/\r$/, '')
    const event = parseEvent(line)
    if (event === undefined) return this.#takeText(line)
    if (!this.#hasEvents) {
      this.#hasEvents = true
      this.#endPlainText()
    }
    this.#isUnanswered = event['type'] !== 'result' && !this.#hasResult
    switch (event['type']) {
      case 'system':
        return this.#takeSystem(event)
      case 'assistant':
        return this.#takeMessage(event)
      case 'user':
        return void this.#facts.push(...this.#calls.end(event, this.#now()))
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
    this.#plain ??= this.#hasEvents
      ? failureDecoder(this.#now)
      : plainDecoder('out', this.#looksForMarker, this.#now)
    const found = this.#plain.push(Buffer.from(`${line}\n`))
    ;(this.#hasEvents ? this.#facts : this.#early).push(...found)
  }

  #endPlainText(): void {
    const found = [...this.#early, ...(this.#plain?.end() ?? [])]
    const isForged = ({ type }: Fact) => type === 'marker' || type === 'blocked'
    this.#facts.push(...(this.#hasEvents ? found.filter((fact) => !isForged(fact)) : found))
    this.#early = []
    this.#plain = undefined
  }

  #takeSystem(event: Event): void {
    const { subtype, session_id: id, model } = event
    if (subtype === 'api_retry') this.#facts.push({ type: 'notice', text: describeRetry(event) })
    if (subtype !== 'init' || typeof id !== 'string') return
    const known = {
      model: typeof model === 'string' ? model : undefined,
      billing: billingOf(event),
    }
    this.#facts.push({ type: 'session', id, ...dropUndefined(known) })
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
        const { name, input, id } = block
        this.#facts.push({ type: 'tool', name, brief: toolBrief(input), ...from })
        this.#calls.begin(id, { name, ...from }, this.#now())
      }
    }
    const tokens = this.#usage.take(message['id'], message['usage'])
    if (tokens !== undefined) this.#facts.push({ type: 'usage', tokens })
  }

  /** For the agent's own text only: output of tools and sub-agents does not count. */
  #scan(text: string, message: unknown): void {
    if (message === undefined || message !== this.#message) this.#endMessage()
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

function describeRetry(event: Event): string {
  const { attempt, max_retries: most, retry_delay_ms: delay, error_status: status, error } = event
  const seconds = typeof delay === 'number' ? ` in ${Math.round(delay / 1000)} s` : ''
  const why = [status, error].filter((part) => ['number', 'string'].includes(typeof part))
  return `claude will retry${seconds} (${String(attempt)}/${String(most)}): ${why.join(' ')}`
}

type Billing = Extract<Fact, { type: 'session' }>['billing']

/** The sources of an API key; with a subscription login there is none. */
const KEY_SOURCES =
  /^(?:ANTHROPIC_API_KEY|apiKeyHelper|\/login managed key|user|project|org|temporary)$/

/** Names of models on other clouds, which do not use an Anthropic key either. */
const OTHER_CLOUD = /anthropic\.|@|^arn:/

function billingOf({ apiKeySource: source, model }: Event): Billing {
  if (typeof source !== 'string') return undefined
  if (KEY_SOURCES.test(source)) return 'api'
  const isElsewhere = typeof model === 'string' && OTHER_CLOUD.test(model)
  return source === 'oauth' || (source === 'none' && !isElsewhere) ? 'subscription' : undefined
}
