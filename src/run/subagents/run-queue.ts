import type { Plan } from '../../chain/plan/plan.ts'
import { openRun } from '../chain/open-run.ts'
import type { Ports } from '../chain/ports.ts'
import { describeLeftovers } from '../process/family.ts'

/** Processes the started tasks of a run without running its steps. */
export async function runQueue(plan: Plan, ports: Ports): Promise<void> {
  ports.emit({ type: 'crew_started', version: ports.version, pid: process.pid })
  const { family, queues } = await openRun(plan, ports)
  try {
    await queues.begin()
    await queues.settle()
    await queues.endWork()
  } finally {
    const leftovers = await family.end(ports.force)
    if (leftovers.length > 0) {
      const text = `tasks left processes running, now ended: ${describeLeftovers(leftovers)}`
      ports.emit({ type: 'warning', text })
    }
  }
  ports.emit({ type: 'crew_ended', ...(await queues.queued()) })
  await queues.close()
  if (queues.damage !== undefined) throw queues.damage
}
