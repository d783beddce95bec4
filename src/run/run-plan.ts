import type { Leftover } from '../events/schema.ts'
import { stepsOf, type Node, type Plan } from '../plan/plan.ts'
import type { Context } from './context.ts'
import { Family } from './family.ts'
import { EXIT_CODES, stopReasonOf, type Ports } from './ports.ts'
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
  const family = new Family(plan.run, ports.ownsDescendants)
  let isComplete = false
  let leftovers: Leftover[]
  try {
    isComplete = await runNode(plan.root, { plan, ports, family })
  } finally {
    // Even a mistake of our own must not leave an agent behind that nobody watches.
    leftovers = await family.end(ports.force)
  }
  const stop = ports.stop.aborted ? stopReasonOf(ports.stop) : undefined
  const exitCode = stop === undefined ? (isComplete ? 0 : 1) : EXIT_CODES[stop.signal]
  const stopped = stop === undefined ? {} : { stopped: stop }
  emit({ type: 'run_ended', ok: exitCode === 0, exitCode, ...stopped, leftovers })
}

async function runNode(node: Node, context: Context): Promise<boolean> {
  if (node.kind === 'step') return runStep(node, context)
  let isComplete = true
  for (const child of node.of) {
    isComplete &&= !context.ports.stop.aborted
    if (isComplete) isComplete = await runNode(child, context)
    else skip(child, context.ports)
  }
  return isComplete
}

function skip(node: Node, { emit }: Ports): void {
  for (const { id, number, agent } of stepsOf(node)) {
    const place = { scope: [id], step: number, agent: agent.name }
    emit({ type: 'step_ended', ...place, reason: 'skipped', iterations: 0, failures: 0 })
  }
}
