import type { Leftover } from '../events/schema.ts'
import { stepsOf, type Node, type Plan } from '../plan/plan.ts'
import { bearersOf, descendantsOf, endProcesses, nameOf } from './family.ts'
import { EXIT_CODES, stopSignalOf, type Ports } from './ports.ts'
import { runStep } from './run-step.ts'

/** Carries a plan out. What happens is told by events alone; nothing of the run is left behind. */
export async function runPlan(plan: Plan, ports: Ports): Promise<void> {
  const { emit, record, version } = ports
  emit({
    type: 'run_started',
    schema: 1,
    version,
    pid: process.pid,
    cwd: plan.cwd,
    ...(plan.chain === undefined ? {} : { chain: plan.chain }),
    ...(record === undefined ? {} : { record }),
    steps: stepsOf(plan.root).map(({ number, agent, loop }) => ({
      step: number,
      agent: agent.name,
      ...(loop === undefined ? {} : { maxIterations: loop }),
    })),
    plan: { ...plan },
  })
  let isComplete = false
  let leftovers: Leftover[]
  try {
    isComplete = await runNode(plan.root, plan, ports)
  } finally {
    // Even a mistake of our own must not leave an agent behind that nobody watches.
    leftovers = await endLeftovers(plan.run, ports)
  }
  const exitCode = ports.stop.aborted ? EXIT_CODES[stopSignalOf(ports.stop)] : isComplete ? 0 : 1
  emit({ type: 'run_ended', ok: exitCode === 0, exitCode, leftovers })
}

async function runNode(node: Node, plan: Plan, ports: Ports): Promise<boolean> {
  if (node.kind === 'step') return runStep(node, plan, ports)
  let isComplete = true
  for (const child of node.of) {
    if (isComplete) isComplete = await runNode(child, plan, ports)
    else skip(child, ports)
  }
  return isComplete
}

function skip(node: Node, { emit }: Ports): void {
  for (const { id, number, agent } of stepsOf(node)) {
    emit({
      type: 'step_ended',
      scope: [id],
      step: number,
      agent: agent.name,
      reason: 'skipped',
      iterations: 0,
    })
  }
}

/** Ends what the agents left running, after a normal end as after a signal, and names it. */
async function endLeftovers(run: string, { ownsDescendants, force }: Ports): Promise<Leftover[]> {
  const find = () => [
    ...new Set([...(ownsDescendants ? descendantsOf(process.pid) : []), ...bearersOf(run)]),
  ]
  const found = find().map((pid) => ({ pid, command: nameOf(pid) }))
  if (found.length === 0) return []
  const survivors = await endProcesses(find, force)
  return found.map((each) => (survivors.includes(each.pid) ? { ...each, survived: true } : each))
}
