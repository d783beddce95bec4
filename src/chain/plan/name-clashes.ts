import type { Phases, PushCommand } from '../parse/prompt/phases.ts'

/** A prompt of a chain, and its name in messages. */
interface Prompt {
  readonly where: string
  readonly phases: Phases
}

/** For each prompt, warnings about tasks whose name may still be in the queue. */
export function findNameClashes(prompts: readonly Prompt[]): string[][] {
  const names = new Names()
  return prompts.map(({ where, phases }) => names.follow(phases, where))
}

/** The names in the queue of `main`, as far as prompts change it. */
class Names {
  /** The place of each, oldest first. */
  readonly #queued = new Map<string, string>()

  follow({ setup, teardown }: Phases, where: string): string[] {
    const clashes = setup.flatMap((command) => {
      if (command.kind === 'run') this.#start(command.count)
      return command.kind === 'push' ? this.#push(command, where) : []
    })
    const after = teardown.filter(({ on }) => on !== 'failure')
    return [...clashes, ...after.flatMap((command) => this.#push(command, where))]
  }

  #push({ name, line }: PushCommand, where: string): string[] {
    if (name === undefined) return []
    const before = this.#queued.get(name)
    const place = `${where}:${line}`
    if (before === undefined) this.#queued.set(name, place)
    return before === undefined ? [] : [describeClash(name, place, before)]
  }

  #start(count = this.#queued.size): void {
    // The step waits for tasks that were started, so their names are free afterwards.
    for (const name of [...this.#queued.keys()].slice(0, count)) this.#queued.delete(name)
  }
}

function describeClash(name: string, place: string, before: string): string {
  return `${place}  The task '${name}' is refused if the one from ${before} has not ended by then. Start that one first, for example with /run, or use another name here.`
}
