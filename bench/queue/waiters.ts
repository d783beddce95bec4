import { readFileSync } from 'node:fs'
import type { Figure } from '../figure.ts'
import { timeOf } from '../process.ts'
import { environment, makeProject, type Programs } from '../project.ts'

const WAITERS = 100
/** Until all processes have started and the runtime is idle; then they are measured. */
const SETTLE_MS = 60_000
/** As long as the longest polling interval. */
const QUIET_MS = 60_000
const DOES_NOTHING = 'setInterval(() => undefined, 1e9)'

/** Waiting agents in separate processes, compared with as many idle processes of the runtime. */
export async function measureWaiters({ forkhestra }: Programs): Promise<Figure[]> {
  const cwd = makeProject({ agent: '#!/bin/sh\nexec sleep 600\n' })
  const start = (argv: readonly string[]) =>
    Bun.spawn([...argv], { cwd, env: environment(cwd), stdio: ['ignore', 'ignore', 'ignore'] })
  const startAll = (argv: readonly string[]) => Array.from({ length: WAITERS }, () => start(argv))
  timeOf([forkhestra, 'push', '--agent', 'agent', 'Do it'], cwd)
  const crew = start([forkhestra, 'run-queue'])
  // `receive` returns at once unless a task is running.
  await Bun.sleep(2000)
  const ours = startAll([forkhestra, 'receive'])
  const idle = startAll([process.execPath, '-e', DOES_NOTHING])
  try {
    await Bun.sleep(SETTLE_MS)
    const [before, since] = [[ticksOf(ours), ticksOf(idle)] as const, performance.now()]
    await Bun.sleep(QUIET_MS)
    const seconds = (performance.now() - since) / 1000
    if (ours.some(({ exitCode }) => exitCode !== null)) throw new Error('some do not wait')
    const cost = (ticks: number) => (ticks * MS_A_TICK) / seconds
    return [
      figure('processes that wait', cost(ticksOf(ours) - before[0]), 200),
      figure('processes of the runtime that do nothing', cost(ticksOf(idle) - before[1])),
    ]
  } finally {
    for (const child of [...ours, ...idle, crew]) child.kill()
    await Promise.all([...ours, ...idle, crew].map(({ exited }) => exited))
  }
}

function figure(who: string, measured: number, limit?: number): Figure {
  const name = `${WAITERS} ${who}, in ms of a core for each second`
  return { group: 'queue', name, measured, unit: 'ms', ...(limit === undefined ? {} : { limit }) }
}

/** Linux reports times to programs in this unit. */
const MS_A_TICK = 10

/** The processor time that these processes have used so far. */
function ticksOf(children: readonly { readonly pid: number }[]): number {
  return children.reduce((sum, { pid }) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return sum + Number(fields[11]) + Number(fields[12])
  }, 0)
}
