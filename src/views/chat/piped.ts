import { asUserError, type UserError } from '../../base/errors.ts'
import { makePaint } from '../terminal/columns.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import type { Output } from '../view.ts'
import { eventLines } from './event-lines.ts'
import type { Meaning } from './session.ts'

/** The inputs of a script, in order. */
export type Inputs = AsyncIterator<string>

interface PipedOptions {
  readonly inputs: Inputs
  /** Absent if another view shows the answer. */
  readonly screen: Output | undefined
  /** Whether to show the answer while it arrives. */
  readonly isLive: boolean
  /** Throws a `UserError` if the text is refused. */
  readonly understand: (text: string) => Meaning
  readonly report: (error: UserError) => void
}

/** A chat without a terminal: answers on stdout, everything else on stderr. */
export class Piped {
  readonly #options: PipedOptions
  readonly #paint = makePaint(false)
  /** Complete messages, followed by pieces of an incomplete one. */
  #said = ''
  #pieces = ''
  #isInLine = false
  #hasRefused = false

  constructor(options: PipedOptions) {
    this.#options = options
  }

  async next(stop: AbortSignal): Promise<string | undefined> {
    const stopped = new Promise<undefined>((resolve) => {
      stop.addEventListener('abort', () => resolve(undefined))
    })
    while (!stop.aborted) {
      const input = await Promise.race([this.#options.inputs.next(), stopped])
      if (input === undefined || input.done === true) return undefined
      if (input.value.trim() === '') continue
      try {
        const meaning = this.#options.understand(input.value)
        if (meaning === 'quit') return undefined
        if ('say' in meaning) return meaning.say
        await meaning.run(stop)
      } catch (error) {
        this.refused(asUserError(error))
      }
    }
    return undefined
  }

  turnBegins(): AbortSignal {
    return new AbortController().signal
  }

  hear(piece: string): void {
    this.#pieces += piece
    if (this.#options.isLive) this.#flush()
  }

  /** A script must not get parts of an answer twice. */
  restartAnswer(): void {
    this.#pieces = ''
    if (this.#options.isLive) this.#write()
  }

  show(event: RunEvent): void {
    if (event.type === 'message' && event.task === undefined) this.#keep()
    if (isAfterAnswer(event)) this.#write()
    for (const line of eventLines(event, this.#paint))
      this.#options.screen?.warn(Bun.stripANSI(line))
  }

  turnEnds(): void {
    this.#write()
  }

  refused(error: UserError): void {
    this.#hasRefused = true
    this.#options.report(error)
  }

  /** The exit code tells a script that something failed. */
  hasFailed(failures: number): boolean {
    return failures > 0 || this.#hasRefused
  }

  leaves(): void {
    this.#write()
  }

  #keep(): void {
    this.#said += this.#pieces
    this.#pieces = ''
  }

  #write(): void {
    this.#flush()
    if (this.#isInLine) void this.#options.screen?.bytes('out', Buffer.from('\n'))
    this.#isInLine = false
  }

  #flush(): void {
    this.#keep()
    if (this.#said === '') return
    void this.#options.screen?.bytes('out', Buffer.from(this.#said))
    this.#isInLine = !this.#said.endsWith('\n')
    this.#said = ''
  }
}

/** An answer that reached the maximum length continues in the next message. */
function isAfterAnswer(event: RunEvent): boolean {
  return event.type === 'iteration_ended' || (event.type === 'tool' && event.task === undefined)
}
