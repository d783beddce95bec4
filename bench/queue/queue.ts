import type { Figure } from '../figure.ts'
import type { Programs } from '../project.ts'
import { measureCrowd } from './crowd.ts'
import { measureCycle } from './cycle.ts'
import { measureWaiters } from './waiters.ts'
import { measureWake } from './wake.ts'

/** What the queues of a run cost, from a single commit to many agents. */
export async function measureQueue(programs: Programs): Promise<Figure[]> {
  return [
    await measureCycle(),
    ...(await measureCrowd(programs)),
    ...(await measureWake()),
    ...(await measureWaiters(programs)),
  ]
}
