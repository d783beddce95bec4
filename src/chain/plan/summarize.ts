import { dropUndefined } from '../../base/objects.ts'
import { firstStep, lastStep, type GroupNode, type Node, type Plan, type StepNode } from './plan.ts'

/** The steps and groups of a plan, for events. */
export function summarize({ root, recoveries }: Pick<Plan, 'root' | 'recoveries'>) {
  const all = root.of.flatMap((node) => located(node, undefined))
  const steps = all.flatMap(({ node, within }) =>
    node.kind === 'step' ? [brief(node, within)] : [],
  )
  const groups = all.flatMap(({ node, within }) =>
    node.kind === 'step' ? [] : [briefGroup(node, within)],
  )
  /** A recovery belongs to the same list as the item it recovers. */
  const listOf = ({ number }: StepNode) =>
    all.find(({ node }) => {
      const { onFail } = node.policy ?? {}
      return onFail?.kind === 'run' && onFail.step === number
    })?.within
  return {
    steps: [
      ...steps,
      ...recoveries.map((step) => ({ ...brief(step, listOf(step)), isRecovery: true })),
    ],
    ...(groups.length === 0 ? {} : { groups }),
  }
}

interface Located {
  readonly node: Node
  /** Id of its group. */
  readonly within: string | undefined
}

function located(node: Node, within: string | undefined): Located[] {
  const inside = node.kind === 'step' ? [] : node.of.flatMap((part) => located(part, node.id))
  return [{ node, within }, ...inside]
}

function brief(step: StepNode, within: string | undefined) {
  const { number, agent, loop, name, copies } = step
  return {
    step: number,
    agent: agent.name,
    ...dropUndefined({ name, maxIterations: loop, within, copies }),
  }
}

function briefGroup(group: GroupNode, within: string | undefined) {
  const { id, kind, name, rounds, copies } = group
  return {
    id,
    kind,
    first: firstStep(group),
    last: lastStep(group),
    ...dropUndefined({ name, maxRounds: rounds, within, copies }),
  }
}
