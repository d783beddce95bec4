import { readFileSync } from 'node:fs'
import type { Figure } from '../figure.ts'
import { timeOf } from '../process.ts'
import { environment, makeProject, type Programs } from '../project.ts'

const WAITERS = 100
/** Until all have begun and the runtime has calmed down; then they are watched. */
const SETTLE_MS = 60_000
/** As long as the longest pause between two looks. */
const QUIET_MS = 60_000
const DOES_NOTHING = 'setInterval(() => undefined, 1e9)'

/** Agents that wait in processes of their own, beside as many of the runtime that do nothing. */
export async function measureWaiters({ forkhestra }: Programs): Promise<Figure[]> {
  const cwd = makeProject({ agent: '#!/bin/sh\nexec sleep 600\n' })
  const start = (argv: readonly string[]) =>
    Bun.spawn([...argv], { cwd, env: environment(cwd), stdio: ['ignore', 'ignore', 'ignore'] })
  const startAll = (argv: readonly string[]) => Array.from({ length: WAITERS }, () => start(argv))
  timeOf([forkhestra, 'push', '--agent', 'agent', 'Do it'], cwd)
  const crew = start([forkhestra, 'run-queue'])
  // Without somebody at work there is nothing to wait for.
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

/** Fixed by Linux for what it shows to programs. */
const MS_A_TICK = 10

/** What these processes have used up to now. */
function ticksOf(children: readonly { readonly pid: number }[]): number {
  return children.reduce((sum, { pid }) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return sum + Number(fields[11]) + Number(fields[12])
  }, 0)
}
