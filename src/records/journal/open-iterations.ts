import type { EventOf } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { OpenIteration } from './receipt.ts'

/** Collects what the receipts of the running iterations need. */
export class OpenIterations {
  readonly #open = new Map<string, OpenIteration>()

  note(event: RunEvent): void {
    if (event.type === 'iteration_started') {
      this.#open.set(keyOf(event.scope), { started: event, commands: [] })
    } else if (event.type === 'command') this.#noteCommand(event)
  }

  find(scope: readonly string[]): OpenIteration | undefined {
    return this.#open.get(keyOf(scope))
  }

  end(scope: readonly string[]): void {
    this.#open.delete(keyOf(scope))
  }

  #noteCommand({ step, iteration, ...event }: EventOf<'command'>): void {
    const { role, command, result, detail, ms, tail } = event
    for (const { started, commands } of this.#open.values()) {
      if (started.step !== step || started.iteration !== iteration) continue
      commands.push({ role, command, result, detail, ms, tail })
    }
  }
}

export function keyOf(scope: readonly string[]): string {
  return scope.join('/')
}
