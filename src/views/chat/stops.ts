import type { Tty } from '../../base/terminal/tty.ts'
import type { ChatScreen } from './screen.ts'

/** A stop that the system does not grant is over by then. */
const SUSPEND_MS = 100

/** Gives the terminal to the shell while the program is stopped, and takes it again. */
export class Stops {
  readonly #tty: Tty
  readonly #screen: ChatScreen
  readonly #draw: () => void
  #isOver = false

  constructor(tty: Tty, screen: ChatScreen, draw: () => void) {
    this.#tty = tty
    this.#screen = screen
    this.#draw = draw
  }

  begin(): void {
    process.on('SIGCONT', this.#continue)
    this.#resume()
  }

  end(): void {
    this.#isOver = true
    process.off('SIGTSTP', this.#stop).off('SIGCONT', this.#continue)
  }

  /** Stops the whole job, including the program that started the chat. */
  ask(): void {
    process.kill(0, 'SIGTSTP')
  }

  readonly #stop = (): void => void this.#leaveAndStop()

  async #leaveAndStop(): Promise<void> {
    this.#screen.close()
    await this.#tty.leave()
    // By the system's own rule, which refuses where no shell could continue it.
    process.off('SIGTSTP', this.#stop)
    process.kill(process.pid, 'SIGTSTP')
    setTimeout(this.#resume, SUSPEND_MS)
  }

  /** After an unexpected stop the terminal is in an unknown state. */
  readonly #continue = (): void => {
    if (!this.#tty.isEntered) return this.#resume()
    this.#tty.reenter()
    this.#screen.forget()
    this.#draw()
  }

  readonly #resume = (): void => {
    if (this.#isOver) return
    process.off('SIGTSTP', this.#stop).on('SIGTSTP', this.#stop)
    this.#tty.enter()
    this.#draw()
  }
}
