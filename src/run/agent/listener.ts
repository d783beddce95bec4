import { afterAwake } from '../../base/awake.ts'
import type { Decoder, Fact, Launch } from '../../engines/engine.ts'
import type { Usage } from '../../records/events/schema.ts'
import { FinalMessage, type FinalText } from './final-message.ts'
import { warnerFor, type Place } from '../place.ts'
import type { Ports } from '../ports.ts'
import type { Verdict } from './verdict.ts'

/** After this much silence a marker counts without a final newline: some agents never print one. */
const SILENCE_MS = 5000

type Stream = 'out' | 'err'

/** Routes an agent's output: facts to the verdict and the events, bytes to the ports. */
export class Listener {
  readonly #place: Place
  readonly #verdict: Verdict
  readonly #ports: Ports
  readonly #onUsage: (usage: Usage | undefined) => void
  readonly #isStructured: boolean
  readonly #finalMessage: FinalMessage
  readonly #decoders: { readonly out?: Decoder | undefined; readonly err?: Decoder | undefined }
  #isOver = false
  #endSilence: (() => void) | undefined
  outputBytes = 0

  constructor(
    launch: Launch,
    place: Place,
    verdict: Verdict,
    ports: Ports,
    onUsage: (usage: Usage | undefined) => void,
  ) {
    this.#place = place
    this.#verdict = verdict
    this.#ports = ports
    this.#onUsage = onUsage
    this.#isStructured = launch.isStructured === true
    this.#finalMessage = new FinalMessage(this.#isStructured, ports)
    this.#decoders =
      launch.kind === 'loop' ? {} : { out: launch.decode('out'), err: launch.decode('err') }
  }

  takeOutput(stream: Stream, bytes: Uint8Array): void | Promise<void> {
    // After a stop, a stream may still deliver a chunk.
    if (this.#isOver) return undefined
    this.outputBytes += bytes.length
    this.#take(this.#decoders[stream]?.push(bytes) ?? [])
    if (stream === 'out') this.#takeStdout(bytes)
    const inEvents = this.#isStructured && stream === 'out' ? { isInEvents: true } : {}
    return this.#ports.output({ ...this.#place, stream, bytes, ...inEvents })
  }

  /** The same for a native agent, whose output is its facts. */
  takeFact(fact: Fact): void | Promise<void> {
    if (this.#isOver) return undefined
    this.#take([fact])
    // The message repeats it.
    if (fact.type === 'delta') return undefined
    const bytes = Buffer.from(`${JSON.stringify(fact)}\n`)
    this.outputBytes += bytes.length
    return this.#ports.output({ ...this.#place, stream: 'out', bytes, isInEvents: true })
  }

  close(): void {
    this.#isOver = true
    this.#endSilence?.()
  }

  /** Decodes the rest of unfinished lines, and returns the final message. */
  end(): FinalText {
    for (const decoder of [this.#decoders.out, this.#decoders.err]) this.#take(decoder?.end() ?? [])
    return this.#finalMessage.end()
  }

  #takeStdout(bytes: Uint8Array): void {
    if (this.#place.task !== undefined) this.#finalMessage.addOutput(bytes)
    this.#endSilence?.()
    const takeMarker = () => this.#verdict.take([{ type: 'marker' }])
    const isDone = this.#decoders.out?.isDoneIfSilent === true
    this.#endSilence = isDone ? afterAwake(SILENCE_MS, takeMarker) : undefined
  }

  #take(facts: readonly Fact[]): void {
    this.#verdict.take(facts)
    for (const fact of facts) {
      this.#finalMessage.take(fact)
      this.#report(fact)
    }
    if (facts.length > 0) this.#onUsage(this.#verdict.usage)
  }

  /** Messages and tool calls become events; other facts only matter to the verdict. */
  #report(fact: Fact): void {
    const { emit } = this.#ports
    switch (fact.type) {
      case 'notice':
        return warnerFor(this.#place, this.#ports)(fact.text)
      case 'message': {
        const { follows: _, ...message } = fact
        return void emit({ ...this.#place, ...message })
      }
      case 'tool':
      case 'tool_ended':
      case 'limit':
        emit({ ...this.#place, ...fact })
    }
  }
}
