import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqliteStore } from '../../src/queue/sqlite-store.ts'
import type { Figure } from '../figure.ts'
import { median } from './median.ts'

const TASKS = 50
const ROUNDS = 41
const RUN = 'bench'

/** Takes a task from its push to its end. */
interface Worker {
  work(place: number): Promise<void> | void
  close(): Promise<void> | void
}

/** Three durable commits per task: pushed, claimed, finished. */
export async function measureCycle(): Promise<Figure> {
  const folder = mkdtempSync(join(tmpdir(), 'forkhestra-bench-'))
  const workers = [bareWorker(join(folder, 'bare.db')), await ourWorker(join(folder, 'queue.db'))]
  const times: [number[], number[]] = [[], []]
  // In turns and in small parts, so that other load on the machine affects both alike.
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [who, worker] of workers.entries()) times[who]!.push(await part(worker, round))
  }
  for (const worker of workers) await worker.close()
  rmSync(folder, { recursive: true })
  const [base, measured] = times.map(median)
  return {
    group: 'queue',
    name: 'push, claim and finish of a task, against three bare commits',
    measured: measured!,
    base: base!,
    unit: 'µs',
    limit: 2,
  }
}

/** In µs per task. */
async function part(worker: Worker, round: number): Promise<number> {
  const start = performance.now()
  for (let place = 0; place < TASKS; place += 1) await worker.work(round * TASKS + place)
  return ((performance.now() - start) * 1000) / TASKS
}

function bareWorker(path: string): Worker {
  const db = new DatabaseSync(path)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  db.exec('create table task (id text primary key, state text, prompt text, at integer, end text)')
  db.exec('create index by_state on task (state, at)')
  const push = db.prepare(`insert into task values (?, 'ready', ?, ?, null)`)
  const take = db.prepare(`update task set state = 'running' where rowid =
    (select rowid from task where state = 'ready' order by at limit 1) returning id`)
  const finish = db.prepare(`update task set state = 'ended', end = ? where id = ?`)
  return {
    work(place) {
      push.run(`task-${place}`, 'Do it', Date.now())
      finish.run('done', String(take.get()!['id']))
    },
    close: () => db.close(),
  }
}

async function ourWorker(path: string): Promise<Worker> {
  const store = await openSqliteStore(path)
  const push = (place: number) =>
    store.push([
      { id: `task-${place}`, run: RUN, parent: 'main', name: `n${place}`, prompt: 'Do it' },
    ])
  await store.openRun(RUN)
  // One extra task at the front keeps the drain active.
  await push(-1)
  await store.drain(RUN, 'main', 4)
  return {
    async work(place) {
      await push(place)
      const claim = await store.claim(RUN, 'worker')
      await store.settle(claim!, { success: true, output: 'done' })
    },
    close: () => store.close(),
  }
}
