import { indentRest, printable } from '../../base/terminal/printable.ts'
import type { Output } from '../view.ts'

/** Our own lines between the output of agents. */
export class OwnLines {
  readonly #screen: Output
  readonly #isVerbose: boolean

  constructor(screen: Output, isVerbose: boolean) {
    this.#screen = screen
    this.#isVerbose = isVerbose
  }

  say(text: string): void {
    this.line(`[forkhestra] ${text}`)
  }

  /** Names and numbers may come from a record that another program has changed. */
  line(text: string, isPlain = false): void {
    this.#screen.line(printable(text), { isPlain })
  }

  warn(text: string): void {
    this.#screen.warn(indentRest(`[forkhestra] ${text}`))
  }

  /** Only with --verbose. */
  detail(text: string): void {
    if (this.#isVerbose) this.say(text)
  }
}
