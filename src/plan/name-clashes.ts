import type { Phases, PushCommand } from '../parse/phases/phases.ts'

/** A prompt of a chain, and what messages call it. */
interface Prompt {
  readonly where: string
  readonly phases: Phases
}

/** Where prompts of steps queue a name that is taken, unless an agent starts what has it: of each prompt, a sentence each. */
export function findNameClashes(prompts: readonly Prompt[]): string[][] {
  const names = new Names()
  return prompts.map(({ where, phases }) => names.follow(phases, where))
}

/** The names of the queue of `main`, as prompts alone change it. */
class Names {
  /** Where they were queued, oldest first. */
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
    return before === undefined ? [] : [clashWords(name, place, before)]
  }

  #start(count = this.#queued.size): void {
    // A step waits for what was started, and in one phase of it no name may come twice.
    for (const name of [...this.#queued.keys()].slice(0, count)) this.#queued.delete(name)
  }
}

function clashWords(name: string, place: string, before: string): string {
  return `${place}  The task '${name}' is refused if the one of ${before} is not over by then. Let that one be started before, e.g. by /run, or give this one another name.`
}
