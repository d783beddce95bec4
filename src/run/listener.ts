import { afterAwake } from '../base/awake.ts'
import type { Decoder, Fact, Launch } from '../engines/engine.ts'
import type { Usage } from '../events/schema.ts'
import { LastWords, type Words } from './last-words.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'
import type { Verdict } from './verdict.ts'

/** How long a marker waits for the end of its line: some agents end without one. */
const SILENCE_MS = 5000

type Stream = 'out' | 'err'

/** Hears what an agent prints: facts for the verdict, its last words, and all of it for the outside. */
export class Listener {
  readonly #place: Place
  readonly #verdict: Verdict
  readonly #ports: Ports
  readonly #onUsage: (usage: Usage | undefined) => void
  readonly #isStructured: boolean
  readonly #lastWords: LastWords
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
    this.#lastWords = new LastWords(this.#isStructured)
    this.#decoders =
      launch.kind === 'loop' ? {} : { out: launch.decode('out'), err: launch.decode('err') }
  }

  get lastWords(): Words {
    return this.#lastWords.words
  }

  hear(stream: Stream, bytes: Uint8Array): void | Promise<void> {
    // After a stop a stream may be left behind in the middle of a chunk.
    if (this.#isOver) return undefined
    this.outputBytes += bytes.length
    this.#take(this.#decoders[stream]?.push(bytes) ?? [])
    if (stream === 'out') this.#hearOut(bytes)
    const isTold = this.#isStructured && stream === 'out' ? { isTold: true } : {}
    return this.#ports.output({ ...this.#place, stream, bytes, ...isTold })
  }

  /** The same for an agent that tells facts: they are what it prints. */
  hearFact(fact: Fact): void | Promise<void> {
    if (this.#isOver) return undefined
    this.#take([fact])
    // It is repeated by the message.
    if (fact.type === 'delta') return undefined
    const bytes = Buffer.from(`${JSON.stringify(fact)}\n`)
    this.outputBytes += bytes.length
    return this.#ports.output({ ...this.#place, stream: 'out', bytes, isTold: true })
  }

  /** Nothing more is heard. */
  close(): void {
    this.#isOver = true
    this.#endSilence?.()
  }

  /** Takes what was left of the last lines. */
  end(): void {
    for (const decoder of [this.#decoders.out, this.#decoders.err]) this.#take(decoder?.end() ?? [])
  }

  #hearOut(bytes: Uint8Array): void {
    if (this.#place.task !== undefined) this.#lastWords.hear(bytes)
    this.#endSilence?.()
    const takeMarker = () => this.#verdict.take([{ type: 'marker' }])
    const isDone = this.#decoders.out?.isDoneIfSilent === true
    this.#endSilence = isDone ? afterAwake(SILENCE_MS, takeMarker) : undefined
  }

  #take(facts: readonly Fact[]): void {
    this.#verdict.take(facts)
    for (const fact of facts) {
      this.#lastWords.take(fact)
      this.#tell(fact)
    }
    if (facts.length > 0) this.#onUsage(this.#verdict.usage)
  }

  /** What an agent says and does is an event; the rest is for the verdict. */
  #tell(fact: Fact): void {
    const { emit } = this.#ports
    const { task } = this.#place
    const whose = task === undefined ? '' : `task ${task}: `
    if (fact.type === 'notice') emit({ type: 'warning', text: `${whose}${fact.text}` })
    switch (fact.type) {
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
