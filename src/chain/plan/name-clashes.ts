import type { Phases, PushCommand } from '../parse/prompt/phases.ts'

/** A prompt of the chain, and its name in messages. */
interface Prompt {
  readonly where: string
  readonly phases: Phases
}

/** For each prompt, warnings about tasks whose name may still be in the queue. */
export function findNameClashes(prompts: readonly Prompt[]): string[][] {
  /** The tasks in the queue of `main` and their places, oldest first. */
  const queued = new Map<string, string>()
  const push = ({ name, line }: PushCommand, where: string) => {
    if (name === undefined) return []
    const [before, place] = [queued.get(name), `${where}:${line}`]
    if (before === undefined) queued.set(name, place)
    return before === undefined ? [] : [describeClash(name, place, before)]
  }
  // The step waits for tasks that were started, so their names are free afterwards.
  const start = (count = queued.size) => {
    for (const name of [...queued.keys()].slice(0, count)) queued.delete(name)
  }
  return prompts.map(({ where, phases: { setup, teardown } }) => {
    const clashes = setup.flatMap((command) => {
      if (command.kind === 'run') start(command.count)
      return command.kind === 'push' ? push(command, where) : []
    })
    const after = teardown.filter(({ on }) => on !== 'failure')
    return [...clashes, ...after.flatMap((command) => push(command, where))]
  })
}

function describeClash(name: string, place: string, before: string): string {
  return `${place}  The task '${name}' will be refused if the one from ${before} has not ended by then. Start that one first, for example with /run, or use another name here.`
}
