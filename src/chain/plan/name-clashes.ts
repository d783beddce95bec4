import type { Phases, PushCommand } from '../parse/prompt/phases.ts'
import type { Problem } from '../../base/errors.ts'
import type { ReadPrompt } from '../prompts/choose.ts'
import { makeLaunch } from './launch.ts'
import { builtInVariables, type Node, type Plan, type StepNode } from './plan.ts'

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

/** Where prompts push tasks, keyed by task name. */
type Pushed = ReadonlyMap<string, string>

/**
 * Problems with task names that several agents would push at the same time: only the first push would succeed.
 */
export function findSharedNames(
  { run, root }: Pick<Plan, 'run' | 'root'>,
  readPrompt: ReadPrompt,
): Problem[] {
  const problems = new Map<string, Problem>()

  const inStep = (step: StepNode): Pushed => {
    const values = builtInVariables({ run, root }, step, 1)
    const { phases, where } = makeLaunch(step, values, readPrompt)
    const pushes = [...phases.setup, ...phases.teardown].filter((each) => each.kind === 'push')
    return new Map(
      pushes.flatMap(({ name, line }) =>
        name === undefined ? [] : [[name, `${where}:${line}`] as const],
      ),
    )
  }

  const inCopy = (node: Node, within: readonly string[], copy: number | undefined): Pushed => {
    if (node.kind === 'step') return inStep({ ...node, within, ...(copy && { copy }) })
    const scope = [...within, node.id, ...(copy === undefined ? [] : [`c${copy}`])]
    const items = node.of.map((item) => inNode(item, scope))
    if (node.kind === 'parallel') {
      for (const [index, item] of items.entries())
        for (const other of items.slice(index + 1)) compare(item, other)
    }
    return merge(items)
  }

  const inNode = (node: Node, within: readonly string[]): Pushed => {
    if (node.copies === undefined) return inCopy(node, within, undefined)
    const [one, two] = [inCopy(node, within, 1), inCopy(node, within, 2)]
    compare(one, two)
    return merge([one, two])
  }

  const compare = (one: Pushed, other: Pushed) => {
    for (const [name, place] of one) {
      const second = other.get(name)
      if (second === undefined) continue
      const also = second === place ? '' : ` (see also ${second})`
      problems.set(`${place} ${name}`, {
        message: `${place}  Several agents would push a task named '${name}' at the same time${also}.`,
        hint: `Names of tasks are unique in a run: leave out "name=", or use different ones. In the configuration, copies can use name=${name}-\${COPY}.`,
      })
    }
  }

  for (const node of root.of) inNode(node, [])
  return [...problems.values()]
}

function merge(all: readonly Pushed[]): Pushed {
  return new Map(all.flatMap((each) => [...each]))
}
