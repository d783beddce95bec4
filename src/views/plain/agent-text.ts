import { printable } from '../../base/terminal/printable.ts'
import type { EventOf, OutputChunk } from '../../records/events/event.ts'
import { TaskLines } from '../describe-task.ts'
import { describeTool } from '../describe.ts'
import { makePaint } from '../terminal/columns.ts'
import type { Output } from '../view.ts'

/** Shows an agent's output, messages and tool calls; with --verbose also those of its sub-agents. */
export class AgentText {
  readonly #screen: Output
  readonly #isVerbose: boolean
  readonly #tasks: TaskLines
  #pending = ''

  constructor(screen: Output, isVerbose: boolean) {
    this.#screen = screen
    this.#isVerbose = isVerbose
    this.#tasks = new TaskLines(screen)
  }

  output({ stream, bytes, isInEvents, task }: OutputChunk): void | Promise<void> {
    const written = this.flush()
    if (task !== undefined) {
      if (isInEvents !== true && this.#isVerbose) this.#tasks.print(task, bytes)
      return written
    }
    return isInEvents === true ? written : this.#screen.bytes(stream, bytes)
  }

  /** Writes everything from one chunk of output at once. */
  flush(): void | Promise<void> {
    const text = this.#pending
    this.#pending = ''
    if (text !== '') return this.#screen.bytes('out', Buffer.from(text))
  }

  message(event: EventOf<'message'>): void {
    this.#add(event, event.text)
  }

  tool(event: EventOf<'tool'>): void {
    this.#add(event, describeTool(event))
  }

  /** Shows failed tools, and with --verbose their changes. */
  toolEnd(event: EventOf<'tool_ended'>): void {
    const { name, error, diff } = event
    if (error !== undefined) {
      const words = `[${printable(name)}] failed: ${error}`
      // Lines of sub-agents have no colours.
      const isRed = this.#screen.isColoured === true && event.task === undefined
      this.#add(event, isRed ? makePaint(true).red(words) : words)
    }
    if (diff !== undefined && this.#isVerbose) this.#add(event, diff.trimEnd())
  }

  endTask(task: string): void {
    this.#tasks.end(task)
  }

  #add(
    { parent, task }: { readonly parent?: string | undefined; readonly task?: string | undefined },
    text: string,
  ): void {
    if ((parent !== undefined || task !== undefined) && !this.#isVerbose) return
    if (task === undefined) this.#pending += `${text}\n`
    else this.#tasks.say(task, text)
  }
}
