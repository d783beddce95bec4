import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/queue/sqlite-store.ts'
import type { Figure } from '../figure.ts'

const RUN = 'bench'
const ROUNDS = 40
/** Long enough that the waiting process polls at its longest interval. */
const PAUSE_MS = 1500
const WAITERS = 100
const QUIET_MS = 5000

/** The delay until a waiting process sees a change, and the cost of a hundred waits. */
export async function measureWake(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'forkhestra-bench-'))
  try {
    const path = join(folder, 'queue.db')
    return [await measureDelay(path), await measureIdle(path)]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measureDelay(path: string): Promise<Figure> {
  const store = await openSqliteStore(path)
  await store.openRun(RUN)
  const delays: number[] = []
  const child = Bun.spawn([process.execPath, import.meta.path, path, 'listen'], {
    ipc: (woken: number) => {
      delays.push(woken - sent)
      next()
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  let sent = 0
  let next: () => void = () => {}
  for (let round = 0; round <= ROUNDS; round += 1) {
    const { promise, resolve } = Promise.withResolvers<void>()
    next = resolve
    // The first message of the child says that it listens.
    if (round > 0) {
      await store.send({ id: `m${round}`, run: RUN, from: 'main', to: 'main', body: 'x' })
      sent = preciseNow()
    }
    await promise
    await Bun.sleep(PAUSE_MS)
  }
  child.kill()
  await child.exited
  await store.close()
  return {
    group: 'queue',
    name: 'until a waiting process is awake, in 95 of 100 cases',
    measured: delays.slice(1).toSorted((one, other) => one - other)[Math.floor(ROUNDS * 0.95)]!,
    unit: 'ms',
    limit: 600,
  }
}

async function measureIdle(path: string): Promise<Figure> {
  const child = Bun.spawn([process.execPath, import.meta.path, path, 'idle'], { stdout: 'pipe' })
  const cost = Number(await new Response(child.stdout).text())
  return {
    group: 'queue',
    name: `${WAITERS} that wait, in ms of a core for each second`,
    measured: cost,
    unit: 'ms',
    limit: 10,
  }
}

function preciseNow(): number {
  return performance.timeOrigin + performance.now()
}

async function listen(path: string): Promise<void> {
  const store = await openSqliteStore(path)
  let mark = await store.mark()
  process.send!(0)
  for (;;) {
    mark = await store.wait(RUN, mark)
    process.send!(preciseNow())
  }
}

async function idle(path: string): Promise<void> {
  const store = await openSqliteStore(path)
  const mark = await store.mark()
  for (let waiter = 0; waiter < WAITERS; waiter += 1) void store.wait(RUN, mark)
  await Bun.sleep(500)
  const [cpu, start] = [process.cpuUsage(), performance.now()]
  await Bun.sleep(QUIET_MS)
  const { user, system } = process.cpuUsage(cpu)
  console.log((user + system) / (performance.now() - start))
  process.exit()
}

if (import.meta.main) await (process.argv[3] === 'listen' ? listen : idle)(process.argv[2]!)
