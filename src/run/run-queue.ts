import type { Plan } from '../plan/plan.ts'
import { Family, leftoverWords } from './family.ts'
import type { Ports } from './ports.ts'
import { Queues } from './queues.ts'
import { Spending } from './spending.ts'

/** Works off what is started in the queues of a run whose steps nobody carries out now. */
export async function runQueue(plan: Plan, ports: Ports): Promise<void> {
  ports.emit({ type: 'crew_started', version: ports.version, pid: process.pid })
  const family = await Family.of(plan.run, ports)
  const queues = new Queues(plan, ports, family, new Spending(plan, ports.state))
  try {
    await queues.begin()
    await queues.settle()
    await queues.endWork()
  } finally {
    const leftovers = await family.end(ports.force)
    if (leftovers.length > 0) {
      const text = `the tasks have left running, now ended: ${leftoverWords(leftovers)}`
      ports.emit({ type: 'warning', text })
    }
  }
  ports.emit({ type: 'crew_ended', ...(await queues.queued()) })
  await queues.close()
}
