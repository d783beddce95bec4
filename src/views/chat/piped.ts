import type { UserError } from '../../base/errors.ts'
import { makePaint } from '../../base/terminal/columns.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import type { Output } from '../screen.ts'
import { eventLines } from './event-lines.ts'

/** What a script says, one turn after the other. */
export type Turns = AsyncIterator<string>

/** What a script says is to be said, or was a command for us. */
export type Understood = { readonly say: string } | 'done' | 'quit'

/** A chat without a terminal: answers on stdout, all else on stderr. */
export class Piped {
  readonly #sayings: Turns
  readonly #screen: Output | undefined
  readonly #command: (text: string) => Promise<Understood>
  readonly #tell: (error: UserError) => void
  /** Whether the answer is shown while it arrives. */
  readonly #isLive: boolean
  readonly #paint = makePaint(false)
  /** Complete messages, followed by pieces of an incomplete one. */
  #said = ''
  #pieces = ''
  #isInLine = false
  #hasRefused = false

  /** Absent if another view shows the answer. */
  constructor(
    sayings: Turns,
    screen: Output | undefined,
    command: (text: string) => Promise<Understood>,
    tell: (error: UserError) => void,
    isLive: boolean,
  ) {
    this.#sayings = sayings
    this.#screen = screen
    this.#command = command
    this.#tell = tell
    this.#isLive = isLive
  }

  async next(stop: AbortSignal): Promise<string | undefined> {
    const stopped = new Promise<undefined>((resolve) => {
      stop.addEventListener('abort', () => resolve(undefined))
    })
    while (!stop.aborted) {
      const said = await Promise.race([this.#sayings.next(), stopped])
      if (said === undefined || said.done === true) return undefined
      const understood = said.value.trim() === '' ? 'done' : await this.#command(said.value)
      if (understood === 'quit') return undefined
      if (understood !== 'done') return understood.say
    }
    return undefined
  }

  turnBegins(): AbortSignal {
    return new AbortController().signal
  }

  hear(piece: string): void {
    this.#pieces += piece
    if (this.#isLive) this.#flush()
  }

  /** A script gets no half of an answer that is given again. */
  restartAnswer(): void {
    this.#pieces = ''
    if (this.#isLive) this.#write()
  }

  show(event: RunEvent): void {
    if (event.type === 'message' && event.task === undefined) this.#keep()
    if (isBehindAnswer(event)) this.#write()
    for (const line of eventLines(event, this.#paint)) this.#screen?.warn(Bun.stripANSI(line))
  }

  turnEnds(): void {
    this.#write()
  }

  refused(error: UserError): void {
    this.#hasRefused = true
    this.#tell(error)
  }

  /** A script wants to know that something did not work. */
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
    if (this.#isInLine) void this.#screen?.bytes('out', Buffer.from('\n'))
    this.#isInLine = false
  }

  #flush(): void {
    this.#keep()
    if (this.#said === '') return
    void this.#screen?.bytes('out', Buffer.from(this.#said))
    this.#isInLine = !this.#said.endsWith('\n')
    this.#said = ''
  }
}

/** An answer that reached its maximum length continues in the next message. */
function isBehindAnswer(event: RunEvent): boolean {
  return event.type === 'iteration_ended' || (event.type === 'tool' && event.task === undefined)
}
